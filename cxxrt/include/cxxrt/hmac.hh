// SPDX-License-Identifier: GPL-2.0
// HMAC-SHA-256 of the kernel's crypto.
//
// One object computes one code after the other: begin(), any number of add(), end(). Whoever shares
// it has a lock around all three. The key and the state in between are wiped by the kernel when the
// object ends.
#pragma once

#include <cxxrt/bytes.hh>
#include <cxxrt/err_ptr.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>
#include <cxxrt/secret.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

class HmacSha256 {
public:
	enum : usize { kSize = 32 };

	// ENOENT if the kernel has no such algorithm, not even as a module, which is loaded;
	// ENOMEM. May sleep, also for user space.
	static Result<HmacSha256> create()
	{
		crypto_shash *algorithm =
		    TRY(from_err_ptr(crypto_alloc_shash("hmac(sha256)", 0, 0)));
		HmacSha256 hmac(algorithm);
		const usize size = sizeof(shash_desc) + crypto_shash_descsize(algorithm);
		hmac.state_ = static_cast<shash_desc *>(kzalloc(size, GFP_KERNEL));
		if (!hmac.state_)
			return err::enomem;
		hmac.state_->tfm = algorithm;
		return hmac;
	}
	HmacSha256(HmacSha256 &&o)
	    : algorithm_(exchange(o.algorithm_, static_cast<crypto_shash *>(nullptr))),
	      state_(exchange(o.state_, static_cast<shash_desc *>(nullptr)))
	{
	}
	HmacSha256(const HmacSha256 &) = delete;
	HmacSha256 &operator=(const HmacSha256 &) = delete;
	~HmacSha256()
	{
		kfree_sensitive(state_);
		if (algorithm_)
			crypto_free_shash(algorithm_);
	}

	// Starts a code anew, whatever was begun. Process context.
	Status begin(ByteView key)
	{
		TRY(Status::from_code(crypto_shash_setkey(algorithm_, key.data(),
							  static_cast<unsigned int>(key.size()))));
		return Status::from_code(crypto_shash_init(state_));
	}

	Status add(ByteView bytes)
	{
		return Status::from_code(crypto_shash_update(
		    state_, bytes.data(), static_cast<unsigned int>(bytes.size())));
	}

	// What was begun is over, and its state is wiped.
	Status end(u8 (&code)[kSize])
	{
		const Status s = Status::from_code(crypto_shash_final(state_, code));
		wipe(shash_desc_ctx(state_), crypto_shash_descsize(algorithm_));
		return s.ok() ? Status() : Status(s.error());
	}

	static bool equal(ByteView a, ByteView b) { return equal_in_constant_time(a, b); }
	static void wipe(void *memory, usize size) { cxxrt::wipe(memory, size); }

private:
	explicit HmacSha256(crypto_shash *algorithm) : algorithm_(algorithm) {}

	crypto_shash *algorithm_;
	shash_desc *state_ = nullptr;
};

} // namespace cxxrt
