// SPDX-License-Identifier: GPL-2.0
// The language itself, without a runtime behind it.
#include <cxxrt/kernel.hh>

#include "check.hh"

namespace {

using selftest::Case;
using selftest::Test;

struct Shape {
	virtual int area() const = 0;
	virtual ~Shape() = default;
};

class Square final : public Shape {
public:
	Square(int side, int *destroyed) : side_(side), destroyed_(destroyed) {}
	~Square() override { ++*destroyed_; }
	int area() const override { return side_ * side_; }

private:
	int side_;
	int *destroyed_;
};

void virtual_calls(Case &t)
{
	int destroyed = 0;
	Shape *shape = new (GFP_KERNEL) Square(3, &destroyed);
	if (!shape)
		return t.skip("out of memory");
	EXPECT(shape->area() == 9);
	delete shape;
	EXPECT(destroyed == 1);
}

// A table of the kernel's own type, with a lambda as function: static data, no code at start.
int double_it(int v)
{
	return 2 * v;
}

struct Row {
	const char *name;
	int (*apply)(int);
};

constinit const Row kRows[] = {
    {.name = "double", .apply = double_it},
    {.name = "square",
     .apply =
	 [](int v) {
		 return v * v;
	 }},
};

constinit const kobj_type kType = [] {
	kobj_type type{};
	type.release = [](kobject *) {
	};
	return type;
}();

void static_tables(Case &t)
{
	EXPECT(kRows[0].apply(4) == 8);
	EXPECT(kRows[1].apply(4) == 16);
	EXPECT(kType.release && !kType.sysfs_ops);
}

int sum_of(const int (&values)[3])
{
	int sum = 0;
	for (int v : values)
		sum += v;
	return sum;
}

void member_pointers(Case &t)
{
	int (Shape::*area)() const = &Shape::area;
	int destroyed = 0;
	Square square(5, &destroyed);
	const Shape &shape = square;
	EXPECT((shape.*area)() == 25);
	EXPECT(sum_of({1, 2, 3}) == 6);
}

struct Step {
	Step(int *log, int value) : log_(log), value_(value) { *log_ = *log_ * 10 + value_; }
	~Step() { *log_ = *log_ * 10 + value_; }
	int *log_;
	int value_;
};

int scoped(int *log, bool leave)
{
	Step outer(log, 1);
	if (leave)
		return 7;
	Step inner(log, 2);
	return 8;
}

void scopes(Case &t)
{
	int log = 0;
	EXPECT(scoped(&log, true) == 7);
	EXPECT(log == 11);
	log = 0;
	EXPECT(scoped(&log, false) == 8);
	EXPECT(log == 1221);
}

constexpr Test kLanguageTests[] = {
    {"virtual calls and destructors", virtual_calls},
    {"static tables", static_tables},
    {"pointers to members", member_pointers},
    {"destructors run in reverse order, on every way out", scopes},
};

} // namespace

namespace selftest {
constinit const Suite language_suite("language", kLanguageTests);
}
