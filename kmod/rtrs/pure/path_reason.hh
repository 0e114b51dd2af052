// SPDX-License-Identifier: GPL-2.0
// Why a path of the client lost its connection, or did not get one, in words for who has to do
// something about it. Pure.
#pragma once

#include <rtrs/pure/path_errors.hh>

namespace rtrs {

enum class PathReason : u8 {
	None,	       // nothing has gone wrong so far
	Asked,	       // an administrator has
	NobodyListens, // the other machine is there, and has no server at that port
	Refused,       // by the server, whose errno it is
	NoAnswer,      // to the question for the address, or to the request to connect
	NoRoute,
	NoDevice, // no RDMA device leads there, or has the source address
	Proof,	  // protocol J.3
	PortDown,
	Disconnected, // by the server, the connection manager or the device
	Silent,	      // no heartbeat
	Lifeless,     // a request was not answered, and the connection did not show life
	Starved,      // likewise, though the server was heard meanwhile: large packets
	Broken,	      // a work request failed or could not be posted
	Malformed,
	Anew,	// it begins again by itself, since something has changed meanwhile
	Failed, // anything else, as its errno says
};

// What the kind of an error and its errno say, where nobody knows more.
constexpr PathReason reason_of(PathError kind, Error error)
{
	constexpr Error kAddressNotAvailable = Error::from_errno(99);
	constexpr Error kNetworkUnreachable = Error::from_errno(101);
	if (error == err::ekeyrejected)
		return PathReason::Proof;
	switch (kind) {
	case PathError::Disconnected:
		if (error == err::enodev)
			return PathReason::NoDevice;
		if (error == err::ehostunreach)
			return PathReason::PortDown;
		return error == err::eagain ? PathReason::Anew : PathReason::Disconnected;
	case PathError::Heartbeat:
		return PathReason::Silent;
	case PathError::Timeout:
		return PathReason::Lifeless;
	case PathError::Completion:
	case PathError::Post:
		return PathReason::Broken;
	case PathError::Malformed:
		return PathReason::Malformed;
	default:
		break;
	}
	if (error == err::etimedout)
		return PathReason::NoAnswer;
	if (error == err::ehostunreach || error == kNetworkUnreachable)
		return PathReason::NoRoute;
	if (error == err::enodev || error == kAddressNotAvailable)
		return PathReason::NoDevice;
	if (error == err::econnaborted || error == err::eagain)
		return PathReason::Anew;
	return PathReason::Failed;
}

constexpr const char *to_text(PathReason reason)
{
	switch (reason) {
	case PathReason::None:
		return "none";
	case PathReason::Asked:
		return "asked for";
	case PathReason::NobodyListens:
		return "nobody listens";
	case PathReason::Refused:
		return "refused";
	case PathReason::NoAnswer:
		return "no answer";
	case PathReason::NoRoute:
		return "no route";
	case PathReason::NoDevice:
		return "no RDMA device";
	case PathReason::Proof:
		return "proof not believed";
	case PathReason::PortDown:
		return "port down";
	case PathReason::Disconnected:
		return "disconnected";
	case PathReason::Silent:
		return "no heartbeat";
	case PathReason::Lifeless:
		return "no sign of life";
	case PathReason::Starved:
		return "large packets lost";
	case PathReason::Broken:
		return "work request failed";
	case PathReason::Malformed:
		return "protocol violated";
	case PathReason::Anew:
		return "begun anew";
	case PathReason::Failed:
		return "failed";
	}
	return "?";
}

// Whether the errno says what the words leave open.
constexpr bool names_errno(PathReason reason)
{
	return reason == PathReason::Refused || reason == PathReason::Failed;
}

} // namespace rtrs
