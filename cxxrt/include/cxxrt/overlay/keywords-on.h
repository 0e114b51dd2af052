/* SPDX-License-Identifier: GPL-2.0 */
/*
 * C++ keywords that kernel headers use as identifiers get a trailing underscore while the headers
 * are read; C++ code then writes dev->class_. keywords-off.h repeats the list.
 */
#define new new_
#define class class_
#define private private_
#define public public_
#define protected protected_
#define operator operator_
#define template template_
#define typename typename_
#define try try_
#define catch catch_
#define throw throw_
#define this this_
#define namespace namespace_
#define delete delete_
#define explicit explicit_
#define export export_
#define friend friend_
#define mutable mutable_
#define using using_
#define virtual virtual_
#define concept concept_
#define requires requires_
#define thread_local thread_local_
#define typeid typeid_
#define wchar_t wchar_t_
#define char8_t char8_t_
#define char16_t char16_t_
#define char32_t char32_t_
