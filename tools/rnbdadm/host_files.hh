// SPDX-License-Identifier: GPL-2.0
// Plain files that are replaced as a whole, and who of this program's processes may do so.
#pragma once

#include "host.hh"

namespace rnbdadm {

// The new content of a file of the administrator, whole and on the disk beside it until commit()
// puts it in the file's place; without that it is gone in the end. Links are followed; owner, group
// and mode are those of the file.
class FileDraft {
public:
	FileDraft(const Host &host, const std::string &path, const std::string &content,
		  Host::Folders folders = Host::Folders::MustExist);
	FileDraft(const FileDraft &) = delete;
	FileDraft &operator=(const FileDraft &) = delete;
	~FileDraft();

	// Why the file cannot be replaced, a positive errno; 0 if it can.
	int error() const { return error_; }
	// 0 or a positive errno. On the disk when it returns.
	int commit();

private:
	std::string target_, draft_;
	int error_ = 0;
};

// Of the processes that lock a file one has it at a time, until it ends. The file is made if it is
// missing, with its folders, and is its owner's alone: nobody else keeps them waiting.
class FileLock {
public:
	FileLock(const Host &host, const std::string &path);
	FileLock(const FileLock &) = delete;
	FileLock &operator=(const FileLock &) = delete;
	~FileLock();

	// 0, EWOULDBLOCK while another process has it, or another positive errno.
	int take();

private:
	int fd_ = -1, error_ = 0;
};

} // namespace rnbdadm
