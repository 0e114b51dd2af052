// SPDX-License-Identifier: GPL-2.0
// A keyring of a module, into which root puts keys of type logon: the kernel reads them, and no
// program does.
//
// A LogonKey is a reference. The key may be revoked, or its time be over, while somebody has one:
// so a secret is asked for each time that it is needed.
#pragma once

#include <cxxrt/bytes.hh>
#include <cxxrt/err_ptr.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>
#include <cxxrt/secret.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

class LogonKey {
public:
	LogonKey(LogonKey &&o) : key_(exchange(o.key_, static_cast<key *>(nullptr))) {}
	LogonKey(const LogonKey &) = delete;
	LogonKey &operator=(const LogonKey &) = delete;
	~LogonKey() { key_put(key_); }

	// A copy of the secret, which must have exactly N bytes. EKEYEXPIRED, EKEYREVOKED, ENOKEY
	// if it was invalidated, EINVAL for another length. Does not sleep.
	template <usize N> Status read(Secret<N> &out) const
	{
#ifdef CONFIG_KEYS
		TRY(Status::from_code(key_validate(key_)));
		rcu_read_lock();
		const user_key_payload *payload = user_key_payload_rcu(key_);
		// It is taken away by a revocation.
		Status s = err::ekeyrevoked;
		if (payload)
			s = copy(*payload, out.data(), N);
		rcu_read_unlock();
		return s.ok() ? Status() : Status(s.error());
#else
		(void)out;
		return err::eopnotsupp;
#endif
	}

	// The kernel's number of it, which no other key has while this one is there; but for its
	// secret, which may be exchanged in its place. Any context.
	key_serial_t serial() const
	{
#ifdef CONFIG_KEYS
		return key_->serial;
#else
		return 0;
#endif
	}

private:
	friend class Keyring;
	explicit LogonKey(key *owned) : key_(owned) {}

#ifdef CONFIG_KEYS
	static Status copy(const user_key_payload &payload, u8 *out, usize size)
	{
		if (payload.datalen != size)
			return err::einval;
		memcpy(out, payload.data, size);
		return {};
	}
#endif

	key *key_;
};

class Keyring {
public:
	// Shown under `name` in /proc/keys, where keyctl finds it as %:name. EOPNOTSUPP if the
	// kernel was built without keys; ENOMEM. May sleep.
	static Result<Keyring> create(const char *name)
	{
#ifdef CONFIG_KEYS
		constexpr key_perm_t kOfModule = KEY_POS_ALL & ~KEY_POS_SETATTR;
		constexpr key_perm_t kOfRoot =
		    KEY_USR_VIEW | KEY_USR_READ | KEY_USR_WRITE | KEY_USR_SEARCH;
		return Keyring(TRY(from_err_ptr(
		    keyring_alloc(name, GLOBAL_ROOT_UID, GLOBAL_ROOT_GID, current_cred(),
				  kOfModule | kOfRoot, KEY_ALLOC_NOT_IN_QUOTA, nullptr, nullptr))));
#else
		(void)name;
		return err::eopnotsupp;
#endif
	}
	Keyring(Keyring &&o) : ring_(exchange(o.ring_, static_cast<key *>(nullptr))) {}
	Keyring(const Keyring &) = delete;
	Keyring &operator=(const Keyring &) = delete;
	// Its keys end with it, but for those that somebody else refers to.
	~Keyring()
	{
		if (ring_)
			key_revoke(ring_);
		key_put(ring_);
	}

	// The key of exactly this description ("prefix:..."). ENOKEY, EKEYEXPIRED, EKEYREVOKED. May
	// sleep.
	Result<LogonKey> find(const char *description) const
	{
#ifdef CONFIG_KEYS
		const key_ref_t found =
		    keyring_search(make_key_ref(ring_, true), &key_type_logon, description, false);
		if (!IS_ERR(found))
			return LogonKey(key_ref_to_ptr(found));
		// The kernel's "not found yet".
		const Error why = Error::from_code(PTR_ERR(found));
		return why == err::eagain ? err::enokey : why;
#else
		(void)description;
		return err::eopnotsupp;
#endif
	}

	// How many keys there are, valid or not. Any context; may be out of date at once.
	usize size() const
	{
#ifdef CONFIG_KEYS
		return READ_ONCE(ring_->keys.nr_leaves_on_tree);
#else
		return 0;
#endif
	}

	// For keys of the module's own. Only while the keyring lives.
	key *get() const { return ring_; }

private:
	explicit Keyring(key *owned) : ring_(owned) {}

	key *ring_;
};

} // namespace cxxrt
