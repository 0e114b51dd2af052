// SPDX-License-Identifier: GPL-2.0
#include "misdeeds.hh"

namespace {

using misdeeds::List;
using misdeeds::Misdeed;

constexpr const List *kLists[] = {&misdeeds::memory_misdeeds, &misdeeds::lock_misdeeds,
				  &misdeeds::object_misdeeds};

} // namespace

int misdeeds_commit(const char *name)
{
	for (const List *list : kLists)
		for (unsigned int i = 0; i < list->count; i++)
			if (!strcmp(list->begin[i].name, name))
				return list->begin[i].commit().code();
	return -ENOENT;
}

int misdeeds_list(char *page)
{
	int length = 0;
	for (const List *list : kLists)
		for (unsigned int i = 0; i < list->count; i++)
			length += scnprintf(page + length, PAGE_SIZE - length, "%s\n",
					    list->begin[i].name);
	return length;
}
