# SPDX-License-Identifier: GPL-2.0
# layout.awk -v keywords="...": reads "readelf --debug-dump=info" and prints a line for each named
# struct, union, class and enum: kind, name, size, then every member as name@bit:bits/size. Members of
# anonymous structs and unions are listed as their parent's. `keywords` are the C++ keywords that got an
# underscore, which is taken off again. POSIX awk (mawk) is enough.

BEGIN {
	count = split(keywords, list, " ")
	for (i = 1; i <= count; i++)
		renamed[list[i] "_"] = list[i]
}

function text_of(line)
{
	sub(/^[^:]*: */, "", line)
	sub(/^\((indirect|offset)[^)]*\): /, "", line)
	sub(/[ \t]+$/, "", line)
	return line
}

function from_hex(digits,    i, n)
{
	n = 0
	digits = tolower(digits)
	for (i = 1; i <= length(digits); i++)
		n = n * 16 + index("0123456789abcdef", substr(digits, i, 1)) - 1
	return n
}

function number_of(line)
{
	line = text_of(line)
	return line ~ /^0x/ ? from_hex(substr(line, 3)) : line + 0
}

function is_record(tag)
{
	return tag ~ /^(structure|union|class)_type$/
}

# A new entry: " <depth><id>: Abbrev Number: n (DW_TAG_...)".
/^ *<[0-9a-f]+><[0-9a-f]+>: Abbrev Number/ {
	if ($0 ~ /Abbrev Number: 0/)
		next
	match($0, /<[0-9a-f]+></)
	depth = from_hex(substr($0, RSTART + 1, RLENGTH - 3))
	id = substr($0, RSTART + RLENGTH)
	sub(/>.*/, "", id)
	kind = $0
	sub(/.*\(DW_TAG_/, "", kind)
	sub(/\).*/, "", kind)
	tag[id] = kind
	at_depth[depth] = id
	parent = depth > 0 ? at_depth[depth - 1] : ""
	if (kind == "member" && is_record(tag[parent]))
		members[parent] = members[parent] " " id
	if (kind == "enumerator")
		enumerators[parent] = enumerators[parent] " " id
	if (kind == "subrange_type")
		ranges[parent] = ranges[parent] " " id
	if (is_record(kind) || kind == "enumeration_type")
		order[++types] = id
	next
}

# Its attributes.
/DW_AT_name/ { name[id] = text_of($0) }
/DW_AT_byte_size/ { bytes[id] = number_of($0) }
/DW_AT_type/ && !/signature/ {
	target = $0
	sub(/.*<0x/, "", target)
	sub(/>.*/, "", target)
	type[id] = target
}
/DW_AT_data_member_location/ { location[id] = number_of($0) }
/DW_AT_data_bit_offset/ { bit_offset[id] = number_of($0) }
/DW_AT_bit_size/ { bits[id] = number_of($0) }
/DW_AT_upper_bound/ { elements[id] = number_of($0) + 1 }
/DW_AT_count/ { elements[id] = number_of($0) }
/DW_AT_const_value/ { value[id] = number_of($0) }
/DW_AT_declaration/ { declared[id] = 1 }

# Without typedefs and qualifiers.
function bare(t)
{
	while (tag[t] ~ /^(typedef|const_type|volatile_type|restrict_type)$/)
		t = type[t]
	return t
}

function size_of(t,    list, n, i, size)
{
	t = bare(t)
	if (tag[t] ~ /^(pointer|reference|rvalue_reference)_type$/)
		return 8
	if (tag[t] == "array_type") {
		size = size_of(type[t])
		n = split(ranges[t], list, " ")
		# A flexible array has no bound, or -1.
		for (i = 1; i <= n; i++)
			size *= elements[list[i]] < 4294967296 ? elements[list[i]] + 0 : 0
		return size
	}
	return bytes[t] + 0
}

function c_name(n)
{
	return n in renamed ? renamed[n] : n
}

# The members of record t, which begins `base` bits into what is printed.
function members_of(t, base, prefix,    list, n, i, m, at, inner, member, line)
{
	line = ""
	n = split(members[t], list, " ")
	for (i = 1; i <= n; i++) {
		m = list[i]
		# What makes structs empty in C++ as they are in C.
		if (name[m] ~ /^__(cxxrt_)?empty_/)
			continue
		member = prefix c_name(name[m])
		at = base + (m in bit_offset ? bit_offset[m] : location[m] * 8)
		inner = bare(type[m])
		if (name[m] == "" && is_record(tag[inner])) {
			line = line members_of(inner, at, prefix)
			continue
		}
		line = line " " member "@" at ":" bits[m] "/" size_of(type[m])
		if (name[inner] == "" && is_record(tag[inner]))
			line = line members_of(inner, at, member ".")
	}
	return line
}

END {
	for (q = 1; q <= types; q++) {
		t = order[q]
		if (t in declared || name[t] == "")
			continue
		if (tag[t] == "enumeration_type") {
			line = "enum " name[t] " " bytes[t]
			n = split(enumerators[t], list, " ")
			for (i = 1; i <= n; i++)
				line = line " " name[list[i]] "=" value[list[i]]
		} else {
			line = "type " c_name(name[t]) " " bytes[t] + 0 members_of(t, 0, "")
		}
		print line
	}
}
