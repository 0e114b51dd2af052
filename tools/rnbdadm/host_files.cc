// SPDX-License-Identifier: GPL-2.0
// Plain files that are replaced as a whole.
#include "host_files.hh"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace rnbdadm {

namespace {

constexpr unsigned kPermissions = 07777;

int error_of(bool ok)
{
	return ok ? 0 : errno;
}

// Those that a file lies in.
int make_folders(const fs::path &file)
{
	std::error_code error;
	fs::create_directories(file.parent_path(), error);
	return error.value();
}

// In the same folder: a rename does not cross file systems. The name is unique for each process,
// and hidden from collectors that read *.prom.
fs::path draft_of(const fs::path &target)
{
	return target.parent_path() /
	       ("." + target.filename().string() + "." + std::to_string(getpid()));
}

int write_to(int fd, const std::string &content)
{
	for (std::size_t done = 0; done < content.size();) {
		const ssize_t n = write(fd, content.data() + done, content.size() - done);
		if (n < 0 && errno != EINTR)
			return errno;
		done += n > 0 ? static_cast<std::size_t>(n) : 0;
	}
	return 0;
}

// A file that was not there, with the owner and mode of `like` if that is one, and then on the
// disk.
int make_draft(const fs::path &draft, const std::string &content, const struct stat *like,
	       bool durable)
{
	// A crash may have left one of this name.
	unlink(draft.c_str());
	const int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    like ? 0600 : 0666);
	if (fd < 0)
		return errno;
	int error = write_to(fd, content);
	struct stat own = {};
	if (!error && like && !(error = error_of(!fstat(fd, &own))) &&
	    (own.st_uid != like->st_uid || own.st_gid != like->st_gid))
		error = error_of(!fchown(fd, like->st_uid, like->st_gid));
	if (!error && like)
		error = error_of(!fchmod(fd, like->st_mode & kPermissions));
	if (!error && durable)
		error = error_of(!fsync(fd));
	if (close(fd) < 0 && !error)
		error = errno;
	if (error)
		unlink(draft.c_str());
	return error;
}

// What links lead to in the end, there or not.
fs::path end_of_links(fs::path path, int &error)
{
	constexpr int kMostLinks = 40; // as the kernel follows
	std::error_code none;
	for (int i = 0; i < kMostLinks; i++) {
		const fs::path next = fs::read_symlink(path, none);
		if (none)
			return path;
		path = path.parent_path() / next;
	}
	error = ELOOP;
	return path;
}

int sync_folder(const fs::path &folder)
{
	// A name without a folder is one of this one.
	const int fd =
	    open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	const int error = error_of(!fsync(fd));
	close(fd);
	return error;
}

} // namespace

int Host::replace_file(const std::string &path, const std::string &content, Folders folders)
{
	const fs::path target = place(path), draft = draft_of(target);
	if (const int failed = folders == Folders::Make ? make_folders(target) : 0)
		return failed;
	if (const int failed = make_draft(draft, content, nullptr, false))
		return failed;
	if (!rename(draft.c_str(), target.c_str()))
		return 0;
	const int failed = errno;
	unlink(draft.c_str());
	return failed;
}

FileDraft::FileDraft(const Host &host, const std::string &path, const std::string &content,
		     Host::Folders folders)
{
	if (folders == Host::Folders::Make)
		error_ = make_folders(host.place(path));
	if (error_)
		return;
	const fs::path target = end_of_links(host.place(path), error_);
	if (error_)
		return;
	struct stat like = {};
	const bool there = !stat(target.c_str(), &like);
	if (!there && errno != ENOENT)
		error_ = errno;
	else if (there && !S_ISREG(like.st_mode))
		error_ = S_ISDIR(like.st_mode) ? EISDIR : EINVAL;
	else if (there) {
		// A file that is immutable would not be replaced, which only commit() would meet.
		const int fd = open(target.c_str(), O_WRONLY | O_CLOEXEC);
		error_ = error_of(fd >= 0);
		if (fd >= 0)
			close(fd);
	}
	const fs::path draft = draft_of(target);
	if (!error_)
		error_ = make_draft(draft, content, there ? &like : nullptr, true);
	if (error_)
		return;
	target_ = target;
	draft_ = draft;
}

FileDraft::~FileDraft()
{
	if (!draft_.empty())
		unlink(draft_.c_str());
}

int FileDraft::commit()
{
	if (error_)
		return error_;
	if (rename(draft_.c_str(), target_.c_str()) < 0)
		return error_ = errno;
	draft_.clear();
	return sync_folder(fs::path(target_).parent_path());
}

FileLock::FileLock(const Host &host, const std::string &path)
{
	const fs::path place = host.place(path);
	error_ = make_folders(place);
	if (error_)
		return;
	fd_ = open(place.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	error_ = error_of(fd_ >= 0);
}

FileLock::~FileLock()
{
	if (fd_ >= 0)
		close(fd_);
}

int FileLock::take()
{
	return error_ ? error_ : error_of(!flock(fd_, LOCK_EX | LOCK_NB));
}

} // namespace rnbdadm
