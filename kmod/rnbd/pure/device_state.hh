// SPDX-License-Identifier: GPL-2.0
// States of a device on the client (protocol E.1). Pure.
#pragma once

#include <rnbd/wire/units.hh>

namespace rnbd {

enum class DeviceState : u8 {
	Init, // initial
	Mapped,
	MappedDisconnected,
	Unmapped, // final
};

constexpr u32 kDeviceStates = 4;

// Whether `from` may become `to`.
constexpr bool transition_allowed(DeviceState from, DeviceState to)
{
	using S = DeviceState;
	switch (to) {
	case S::Init:
		return false;
	case S::Mapped:
		return from == S::Init || from == S::MappedDisconnected;
	case S::MappedDisconnected:
		return from == S::Mapped;
	case S::Unmapped:
		return from != S::Unmapped;
	}
	return false;
}

// For the sysfs attribute `state`; odd words, kept for the tools that read them (protocol F.3).
constexpr const char *to_sysfs(DeviceState s)
{
	switch (s) {
	case DeviceState::Init:
		return "init";
	case DeviceState::Mapped:
		return "open";
	case DeviceState::MappedDisconnected:
		return "closed";
	case DeviceState::Unmapped:
		return "unmapped";
	}
	return "?";
}

// Whether remap_device may send an OPEN: EALREADY, EBUSY, ENODEV (protocol F.3).
constexpr Status check_remap(DeviceState s)
{
	switch (s) {
	case DeviceState::Init:
		return err::ebusy;
	case DeviceState::Mapped:
		return err::ealready;
	case DeviceState::MappedDisconnected:
		return {};
	case DeviceState::Unmapped:
		return err::enodev;
	}
	return err::enodev;
}

// What to do with a block request: only a mapped device accepts it (protocol E.3).
constexpr bool accepts_io(DeviceState s)
{
	return s == DeviceState::Mapped;
}

} // namespace rnbd
