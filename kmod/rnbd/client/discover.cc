// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/discover.hh>

#include <rnbd/client/messages.hh>
#include <rnbd/pure/access.hh>

namespace rnbd::client {

namespace {
// No disk has part in it.
constexpr unsigned int kTimeoutMs = 30'000;
// A server that tells more than this in one answer has thousands of exports for one client.
constexpr u32 kMaxQuestions = 1024;

// What a line says beside the name.
void put_state(cxxrt::TextWriter &out, const DiscoveredExport &e)
{
	const struct {
		bool is;
		TextView word;
	} words[] = {{e.no_device, "missing"},
		     {e.openers.here, "here"},
		     {e.openers.written_elsewhere, "written"},
		     {e.openers.elsewhere && !e.openers.written_elsewhere, "read"}};
	bool any = false;
	for (const auto &w : words) {
		if (!w.is)
			continue;
		if (any)
			out.put(',');
		out.put(w.word);
		any = true;
	}
	if (!any)
		out.put('-');
}

} // namespace

// Grows with what is put into it.
class Discovery::Text {
public:
	// ENOMEM.
	Status put(TextView t)
	{
		if (memory_.size() - size_ < t.size()) {
			auto larger = TRY(cxxrt::Array<char>::create(
			    2 * (memory_.size() + cxxrt::max_of(t.size(), usize{kFirstSize}))));
			if (size_)
				__builtin_memcpy(larger.data(), memory_.data(), size_);
			memory_ = cxxrt::move(larger);
		}
		__builtin_memcpy(memory_.data() + size_, t.data(), t.size());
		size_ += t.size();
		return {};
	}
	cxxrt::Array<char> take() { return cxxrt::move(memory_); }
	usize size() const { return size_; }

private:
	enum : usize { kFirstSize = 512 };

	cxxrt::Array<char> memory_;
	usize size_ = 0;
};

Discovery::Discovery() : answer_(cxxrt::lock_class<"rnbd_client discovery">()) {}

Status Discovery::put(Text &text, const DiscoverView &view)
{
	for (u32 i = 0; i < view.count(); i++) {
		const DiscoveredExport e = view[i];
		const DeviceName name = TRY(view.name(i));
		char line[kDeviceNameSize + 64];
		cxxrt::TextWriter out(line, sizeof(line));
		out.put_unsigned(e.capacity.value).put(' ');
		out.put(TextView::of(to_text(e.access))).put(' ');
		put_state(out, e);
		// Last, as it may have blanks.
		out.put(' ').put(name.view()).put('\n');
		TRY(text.put(out.text()));
	}
	return {};
}

// Whether the server opens paths, too.
Result<bool> Discovery::collect(Session &session, Text &text)
{
	session.await_introduction();
	const u32 epoch = TRY(session.introduced_epoch());
	if (!TRY(session.extension(epoch)).has(feature::discover))
		return err::eopnotsupp;
	u32 first = 0;
	for (u32 i = 0; i < kMaxQuestions; i++) {
		const DiscoverQuestion question = make_discover(first);
		Ref<Message> message = TRY(
		    Message::exchange(session, {&question, sizeof(question), kMaxDiscoverSize},
				      {.epoch = &epoch, .timeout = msecs_to_jiffies(kTimeoutMs)}));
		const DiscoverView view = TRY(DiscoverView::parse(message->answer(), first));
		TRY(put(text, view));
		if (view.next() == kNoMoreExports)
			return view.paths_too();
		first = view.next();
	}
	return err::eoverflow;
}

Status Discovery::ask(Session &session, TextView question)
{
	Text text;
	// Between them is what belongs together: both have the number of the answer.
	Text told;
	const bool paths_too = TRY(session.resend_while_up([&]() -> Result<bool> {
		told = {};
		return collect(session, told);
	}));
	const cxxrt::Array<char> lines = told.take();
	return answer_.with([&](Answer &answer) -> Status {
		const u32 serial = answer.serial + 1;
		cxxrt::TextBuffer<32> number;
		number.print("%u ", serial);
		TRY(text.put(number.view()));
		TRY(text.put(question));
		TRY(text.put("\n"));
		TRY(text.put(TextView(lines.data(), told.size())));
		number.print("end %u %s\n", serial, paths_too ? "paths" : "exports");
		TRY(text.put(number.view()));
		answer.serial = serial;
		answer.size = text.size();
		answer.text = text.take();
		return {};
	});
}

usize Discovery::read(u64 from, char *to, usize size)
{
	return answer_.with([&](const Answer &answer) -> usize {
		if (from >= answer.size)
			return 0;
		const usize begin = static_cast<usize>(from);
		const usize count = cxxrt::min_of(size, answer.size - begin);
		__builtin_memcpy(to, answer.text.data() + begin, count);
		return count;
	});
}

} // namespace rnbd::client
