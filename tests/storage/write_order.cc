// SPDX-License-Identifier: GPL-2.0
// A write-order checker: writes numbered blocks to a disk, many at once, until the disk fails or
// time is over, and then tells whether a crash has taken back what must have been durable.
//
//	write-order write DEVICE RECORD SEED flush|fua|both SECONDS
//	write-order verify DEVICE RECORD
//
// RECORD is a file on something that does not crash. If it is there, writing goes on from it.
// `flush` makes blocks durable by flushes alone, `fua` by FUA alone: a disk that takes the one for
// the other can't hide the loss of either.
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "blocks.hh"

namespace {

using namespace storage;

constexpr size_t kBlocks = 1024;
constexpr size_t kDepth = 8;
// Leaves most of an emulated CPU to others who write at the same time.
constexpr useconds_t kPause = 5'000;

volatile sig_atomic_t interrupted = 0;

struct Slot {
	iocb control{};
	uint8_t *data = nullptr;
	size_t block = 0;
	uint64_t write = 0;
	bool fua = false;
	bool busy = false;
};

class Writer {
public:
	Writer(int fd, Record &record, uint64_t seed, bool flushes, bool fua)
	    : fd_(fd), record_(record), random_(seed ^ record.writes()), flushes_(flushes),
	      fua_(fua), in_flight_(record.count())
	{
		if (syscall(SYS_io_setup, kDepth + 1, &context_) < 0)
			die("io_setup", errno);
		for (Slot &s : slots_)
			s.data = static_cast<uint8_t *>(aligned_alloc(kBlock, kBlock));
	}

	// Until the first error, SIGINT, or the end of the time. What is under way then, ends.
	void run(int seconds)
	{
		const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
		while (!failed_ && !interrupted && std::chrono::steady_clock::now() < end) {
			for (Slot &s : slots_)
				if (!s.busy)
					start_write(s);
			if (flushes_ && !flushing_ && ++pause_ % 8 == 0)
				start_flush();
			collect();
			usleep(kPause);
		}
		while (busy_)
			collect();
		printf("%lu writes, %lu flushes, %lu with FUA%s\n",
		       static_cast<unsigned long>(writes_done_),
		       static_cast<unsigned long>(flushes_done_),
		       static_cast<unsigned long>(fua_done_), failed_ ? ", failed" : "");
	}

private:
	void submit(iocb &control)
	{
		iocb *list[] = {&control};
		if (syscall(SYS_io_submit, context_, 1, list) != 1)
			die("io_submit", errno);
		busy_++;
	}

	void start_write(Slot &s)
	{
		do
			s.block = random_() % record_.count();
		while (in_flight_[s.block]);
		in_flight_[s.block] = true;
		s.busy = true;
		s.fua = fua_ && random_() % 3 == 0;
		s.write = record_.next_write();
		record_[s.block].issued = s.write;
		record_.fill(s.data, s.block, s.write);
		s.control = {};
		s.control.aio_data = reinterpret_cast<uintptr_t>(&s);
		s.control.aio_lio_opcode = IOCB_CMD_PWRITE;
		s.control.aio_fildes = fd_;
		s.control.aio_buf = reinterpret_cast<uintptr_t>(s.data);
		s.control.aio_nbytes = kBlock;
		s.control.aio_offset = static_cast<int64_t>(s.block * kBlock);
		// Asynchronous and direct, this is a write with FUA and no flush behind it.
		s.control.aio_rw_flags = s.fua ? RWF_DSYNC : 0;
		submit(s.control);
	}

	void start_flush()
	{
		// It covers what is acknowledged by now, and no more.
		covered_.resize(record_.count());
		for (size_t b = 0; b < record_.count(); b++)
			covered_[b] = record_[b].acknowledged;
		flush_ = {};
		flush_.aio_lio_opcode = IOCB_CMD_FSYNC;
		flush_.aio_fildes = fd_;
		flushing_ = true;
		submit(flush_);
	}

	void collect()
	{
		io_event events[kDepth + 1];
		const long n = syscall(SYS_io_getevents, context_, 1, kDepth + 1, events, nullptr);
		if (n < 0 && errno != EINTR)
			die("io_getevents", errno);
		for (long i = 0; i < n; i++) {
			busy_--;
			if (events[i].obj == reinterpret_cast<uintptr_t>(&flush_))
				flushed(events[i].res);
			else
				wrote(*reinterpret_cast<Slot *>(events[i].data), events[i].res);
		}
	}

	void wrote(Slot &s, int64_t result)
	{
		s.busy = false;
		in_flight_[s.block] = false;
		if (result != static_cast<int64_t>(kBlock)) {
			failed_ = true;
			return;
		}
		writes_done_++;
		BlockState &state = record_[s.block];
		state.acknowledged = s.write;
		if (s.fua) {
			fua_done_++;
			state.durable = s.write;
		}
	}

	void flushed(int64_t result)
	{
		flushing_ = false;
		if (result != 0) {
			failed_ = true;
			return;
		}
		flushes_done_++;
		for (size_t b = 0; b < record_.count(); b++)
			if (record_[b].durable < covered_[b])
				record_[b].durable = covered_[b];
	}

	const int fd_;
	Record &record_;
	std::mt19937_64 random_;
	const bool flushes_, fua_;
	aio_context_t context_ = 0;
	Slot slots_[kDepth];
	std::vector<bool> in_flight_; // by block: two writes at once would have no order
	iocb flush_{};
	std::vector<uint64_t> covered_;
	bool flushing_ = false;
	bool failed_ = false;
	unsigned pause_ = 0;
	size_t busy_ = 0;
	size_t writes_done_ = 0, flushes_done_ = 0, fua_done_ = 0;
};

int open_disk(const char *device, int flags)
{
	const int fd = open(device, flags | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		die(device, errno);
	return fd;
}

int write_blocks(char **argv)
{
	const std::string file = argv[1], how = argv[3];
	const uint64_t seed = strtoull(argv[2], nullptr, 0);
	Record record =
	    access(file.c_str(), F_OK) == 0 ? Record::load(file) : Record(seed, kBlocks);
	signal(SIGINT, [](int) { interrupted = 1; });
	Writer writer(open_disk(argv[0], O_RDWR), record, seed, how != "fua", how != "flush");
	writer.run(atoi(argv[4]));
	record.save(file);
	return 0;
}

int verify_blocks(char **argv)
{
	const int fd = open_disk(argv[0], O_RDONLY);
	const Record record = Record::load(argv[1]);
	auto *data = static_cast<uint8_t *>(aligned_alloc(kBlock, kBlock));
	size_t bad = 0, durable = 0;
	for (size_t b = 0; b < record.count(); b++) {
		if (pread(fd, data, kBlock, static_cast<off_t>(b * kBlock)) !=
		    static_cast<ssize_t>(kBlock))
			die("reading block " + std::to_string(b), errno);
		durable += record[b].durable != 0;
		const std::string wrong = record.judge(data, b);
		if (!wrong.empty() && bad++ < 10)
			printf("lost: %s\n", wrong.c_str());
	}
	printf("%zu blocks had something durable, %zu are wrong\n", durable, bad);
	return bad != 0;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc == 7 && !strcmp(argv[1], "write"))
		return write_blocks(argv + 2);
	if (argc == 4 && !strcmp(argv[1], "verify"))
		return verify_blocks(argv + 2);
	die("write DEVICE RECORD SEED flush|fua|both SECONDS, or verify DEVICE RECORD");
}
