// SPDX-License-Identifier: GPL-2.0
// /etc/rnbd/keys.d. Everything is looked at by descriptors that are open already, so that what was
// checked is what is read.
#include "key_files.hh"

#include "text.hh"

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rnbdadm {

namespace {

constexpr const char *kNotes = "keys.last";
constexpr const char *kNewNotes = "keys.last.new";

class Descriptor {
public:
	explicit Descriptor(int fd) : fd_(fd) {}
	Descriptor(const Descriptor &) = delete;
	Descriptor &operator=(const Descriptor &) = delete;
	~Descriptor()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	int get() const { return fd_; }
	int release() { return std::exchange(fd_, -1); }

private:
	int fd_;
};

[[noreturn]] void fail(const std::string &what, int error)
{
	throw Failure(error == EACCES || error == EPERM ? Exit::Denied : Exit::Failed,
		      fmt::format("{}: {}", what, words_of(error, Action::Configure)));
}

[[noreturn]] void refuse(const std::string &what, const std::string &why, const std::string &hint)
{
	throw Failure(Exit::Config, fmt::format("{}: {}", what, why), hint);
}

// Who may write to a folder on the way decides what lies in it.
int open_folder(const Host &host, int at, const std::string &name, const std::string &path)
{
	const int fd =
	    openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return -1;
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		refuse(path, "it is a link or a file, and has to be a folder", "");
	if (fd < 0)
		fail("cannot open " + path, errno);
	struct stat s = {};
	if (fstat(fd, &s) < 0 || s.st_uid != host.key_owner() || s.st_mode & (S_IWGRP | S_IWOTH)) {
		close(fd);
		refuse(path, "others than root can change it",
		       "after a look at who did: chown root: " + path + "; chmod go-w " + path);
	}
	return fd;
}

void check_file(const Host &host, int fd, const std::string &path, bool own)
{
	struct stat s = {};
	if (fstat(fd, &s) < 0)
		fail("cannot look at " + path, errno);
	if (!S_ISREG(s.st_mode))
		refuse(path, "it is no plain file", "");
	if (own && s.st_uid != host.key_owner())
		refuse(path, "it is not root's",
		       "if its owner may know the secret: chown root: " + path);
	if (s.st_mode & 077)
		refuse(path,
		       fmt::format("others than its owner may use it (mode {:04o})",
				   s.st_mode & 07777),
		       "if nobody has read it: chmod 600 " + path +
			   "; else make another key: rnbdadm key rotate NAME");
}

void read_line(int fd, const std::string &path, KeyLine &line)
{
	ssize_t n = 1;
	while (n > 0 && line.size < line.bytes.size()) {
		n = read(fd, line.bytes.data() + line.size, line.bytes.size() - line.size);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			fail("cannot read " + path, errno);
		else
			line.size += static_cast<std::size_t>(n);
	}
}

rtrs::KeyId parse_line(const KeyLine &line, const std::string &path, Secret &secret)
{
	try {
		return read_key_line(line, secret);
	} catch (const Failure &failure) {
		throw Failure(failure.code(), fmt::format("{}: {}", path, failure.what()),
			      failure.hint());
	}
}

bool write_all(int fd, const void *bytes, std::size_t size)
{
	for (std::size_t done = 0; done < size;) {
		ssize_t n = write(fd, static_cast<const char *>(bytes) + done, size - done);
		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? static_cast<std::size_t>(n) : 0;
	}
	return !fsync(fd);
}

} // namespace

std::string key_file_name(const rtrs::KeyId &id)
{
	return fmt::format("{}.{}", id.name.c_str(), id.generation.value);
}

std::string key_file(const rtrs::KeyId &id)
{
	return kKeyFolder + "/" + key_file_name(id);
}

std::optional<rtrs::KeyId> parse_key_file_name(const std::string &name)
{
	// A name may have dots, too.
	const std::size_t dot = name.rfind('.');
	if (dot == std::string::npos)
		return std::nullopt;
	const auto key = rtrs::KeyName::from(view(name).first(dot));
	const auto generation = rtrs::parse_key_generation(view(name).skip(dot + 1));
	if (!key.ok() || !generation.ok())
		return std::nullopt;
	return rtrs::KeyId{key.value(), generation.value()};
}

KeyFolder::KeyFolder(const Host &host, Missing missing) : host_(host)
{
	host.keep_secrets();
	const bool make = missing == Missing::Make;
	const std::string above = kKeyFolder.substr(0, kKeyFolder.rfind('/'));
	// /etc/rnbd is of the package; a copy of another machine's files may lack it.
	if (make && mkdir(host.place(above).c_str(), 0755) < 0 && errno != EEXIST)
		fail("cannot make " + above, errno);
	Descriptor parent(open_folder(host, AT_FDCWD, host.place(above), above));
	if (parent.get() < 0)
		return;
	const std::string name = kKeyFolder.substr(above.size() + 1);
	if (make && !mkdirat(parent.get(), name.c_str(), 0700))
		fsync(parent.get());
	else if (make && errno != EEXIST)
		fail("cannot make " + kKeyFolder, errno);
	fd_ = open_folder(host, parent.get(), name, kKeyFolder);
	above_ = parent.release();
}

KeyFolder::~KeyFolder()
{
	for (const int fd : {fd_, above_})
		if (fd >= 0)
			close(fd);
}

std::vector<std::string> KeyFolder::names() const
{
	std::vector<std::string> found;
	if (fd_ < 0)
		return found;
	DIR *folder = fdopendir(openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (!folder)
		fail("cannot read " + kKeyFolder, errno);
	while (const struct dirent *entry = readdir(folder))
		if (std::string_view(entry->d_name) != "." &&
		    std::string_view(entry->d_name) != "..")
			found.push_back(entry->d_name);
	closedir(folder);
	std::sort(found.begin(), found.end(), natural_less);
	return found;
}

bool KeyFolder::has(const rtrs::KeyId &id) const
{
	struct stat s = {};
	return fd_ >= 0 && !fstatat(fd_, key_file_name(id).c_str(), &s, AT_SYMLINK_NOFOLLOW);
}

rtrs::KeyId KeyFolder::read(const std::string &name, Secret &secret) const
{
	const std::string path = kKeyFolder + "/" + name;
	const auto wanted = parse_key_file_name(name);
	if (!wanted)
		refuse(path, "its name is not NAME.GENERATION of a key", "");
	// Not blocking: a fifo is no plain file, and nothing is written into it.
	const Descriptor file(
	    openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
	if (file.get() < 0 && errno == ELOOP)
		refuse(path, "it is a link, and has to be a plain file", "");
	if (file.get() < 0)
		fail("cannot open " + path, errno);
	check_file(host_, file.get(), path, true);
	KeyLine line;
	read_line(file.get(), path, line);
	const rtrs::KeyId id = parse_line(line, path, secret);
	if (!(id == *wanted))
		refuse(path, "it has the key " + name_of(id) + ", which its name does not say",
		       "rnbdadm key add puts keys into files of their names");
	return id;
}

void KeyFolder::create(const rtrs::KeyId &id, const Secret &secret)
{
	const std::string name = key_file_name(id), path = key_file(id);
	note_generation(id);
	KeyLine line;
	write_key_line(id, secret, line);
	const Descriptor file(
	    openat(fd_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (file.get() < 0 && errno == EEXIST)
		throw Failure(Exit::Exists, path + " is there already");
	if (file.get() < 0)
		fail("cannot make " + path, errno);
	// Whatever the umask is. What is left of a crash here is damaged, and found by its check.
	if (fchmod(file.get(), 0600) < 0 || !write_all(file.get(), line.bytes.data(), line.size) ||
	    fsync(fd_) < 0) {
		const int error = errno;
		unlinkat(fd_, name.c_str(), 0);
		fail("cannot write " + path, error);
	}
}

void KeyFolder::remove(const std::string &name)
{
	if (fd_ >= 0 && unlinkat(fd_, name.c_str(), 0) < 0 && errno != ENOENT)
		fail("cannot remove " + kKeyFolder + "/" + name, errno);
	if (fd_ >= 0)
		fsync(fd_);
}

std::map<std::string, std::uint32_t> KeyFolder::read_notes() const
{
	std::map<std::string, std::uint32_t> notes;
	if (above_ < 0)
		return notes;
	const Descriptor file(
	    openat(above_, kNotes, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
	if (file.get() < 0 && errno == ENOENT)
		return notes;
	if (file.get() < 0)
		fail("cannot open " + kKeyNotes, errno);
	check_file(host_, file.get(), kKeyNotes, true);
	std::string text;
	char part[4096];
	for (ssize_t n = 1; n; text.append(part, n > 0 ? static_cast<std::size_t>(n) : 0)) {
		n = ::read(file.get(), part, sizeof(part));
		if (n < 0 && errno != EINTR)
			fail("cannot read " + kKeyNotes, errno);
	}
	std::istringstream lines(text);
	for (std::string line; std::getline(lines, line);) {
		// As the name of a key's file, but for the blank.
		std::vector<std::string> words = split(line);
		const auto id = words.size() == 2 ? parse_key_file_name(words[0] + "." + words[1])
						  : std::nullopt;
		if (!id)
			refuse(
			    kKeyNotes,
			    fmt::format("'{}' is no name of a key with its last generation", line),
			    "correct it: numbers of keys that were removed must not come back");
		notes[words[0]] = id->generation.value;
	}
	return notes;
}

std::uint32_t KeyFolder::last_generation(const rtrs::KeyName &name) const
{
	const auto notes = read_notes();
	const auto found = notes.find(name.c_str());
	return found == notes.end() ? 0 : found->second;
}

void KeyFolder::note_generation(const rtrs::KeyId &id)
{
	auto notes = read_notes();
	std::uint32_t &last = notes[id.name.c_str()];
	if (above_ < 0 || last >= id.generation.value)
		return;
	last = id.generation.value;
	std::string text;
	for (const auto &[name, generation] : notes)
		text += fmt::format("{} {}\n", name, generation);
	// What a crash has left of another one is overwritten.
	const Descriptor file(
	    openat(above_, kNewNotes, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (file.get() < 0)
		fail("cannot make " + kKeyNotes, errno);
	if (fchmod(file.get(), 0600) < 0 || !write_all(file.get(), text.data(), text.size()) ||
	    renameat(above_, kNewNotes, above_, kNotes) < 0 || fsync(above_) < 0)
		fail("cannot write " + kKeyNotes, errno);
}

rtrs::KeyId read_key_from(const Host &host, const std::string &file, Secret &secret)
{
	host.keep_secrets();
	KeyLine line;
	if (file == "-") {
		read_line(host.input(), "the standard input", line);
		return parse_line(line, "the standard input", secret);
	}
	const Descriptor fd(open(host.place(file).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
	if (fd.get() < 0 && errno == ENOENT)
		throw Failure(Exit::NotFound, fmt::format("there is no file {}", file));
	if (fd.get() < 0)
		fail("cannot open " + file, errno);
	check_file(host, fd.get(), file, false);
	read_line(fd.get(), file, line);
	return parse_line(line, file, secret);
}

} // namespace rnbdadm
