// SPDX-License-Identifier: GPL-2.0
// A session whose chunks are plain memory and whose user is the case.
#pragma once

#include <cxxrt/memory.hh>
#include <rtrs/rtrs.h>
#include <rtrs/server/path.hh>

namespace rtrs::server {

constexpr u32 kChunk = 8192;

class ChunkPool {
public:
	Status prepare(u32 count)
	{
		memory_ = TRY(cxxrt::Array<u8>::create(usize{count} * kChunk));
		return {};
	}
	u32 chunk_size() const { return kChunk; }
	page *pages(u32) const { return nullptr; } // nobody looks at it
	u8 *data(u32 chunk) const { return memory_.data() + usize{chunk} * kChunk; }

private:
	cxxrt::Array<u8> memory_;
};

class Server {
public:
	explicit Server(const rtrs_srv_ops &ops) : ops_(ops) {}
	const rtrs_srv_ops &ops() const { return ops_; }

private:
	const rtrs_srv_ops &ops_;
};

class Session {
public:
	Session(const rtrs_srv_ops &ops, void *user) : server_(ops), user_(user) {}
	Server &server() { return server_; }
	ChunkPool &chunks() { return chunks_; }
	void *user() const { return user_; }

private:
	Server server_;
	ChunkPool chunks_;
	void *user_;
};

} // namespace rtrs::server
