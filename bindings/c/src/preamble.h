/*
 * LiveBuf: JSON-like documents in one buffer, read without parsing and edited in place.
 * https://github.com/livebuf/livebuf - MIT licence
 *
 * Made from bindings/c/src: do not edit. C11, and C++ where livebuf.hpp is not wanted.
 *
 * Two ways to have a document, one set of calls for both:
 *   the buffer API:  a livebuf_doc of yours over memory of yours. Nothing is allocated;
 *                    livebuf_init, livebuf_open, livebuf_read.
 *   the context API: livebuf_create and its kin return a livebuf_doc that manages its
 *                    memory, until livebuf_destroy. With it come files and JSON.
 *
 * What holds of every call, beside what its own comment says:
 *   Memory   Pointers are good for as many bytes as said with them. Documents outlive their
 *            values, text, iterators and columns, and do not move in memory meanwhile. What
 *            a call keeps it says; all else is looked at during the call only. Text that
 *            lies in the document under edit may be given to the edit.
 *   NULL     is looked for in every pointer, and is an error or has a meaning.
 *   Errors   Reads give values that are not there, with a status inside, and chain:
 *            livebuf_get_i64(livebuf_get(livebuf_root(doc), "a")) is 0 where there is none;
 *            livebuf_read_i64 and its kin return a status. Edits return one, too; 0 is
 *            LIVEBUF_OK, and doc->error has the byte offset (livebuf_error_text). An edit
 *            that fails leaves the document as it was. Values, text, iterators and columns of
 *            before an edit are known to be stale, and places (livebuf_node) when what they
 *            stand for may be gone.
 *   Threads  A read: any number at once, while none edits. An edit: nobody else uses the
 *            document. Different documents have nothing to do with each other.
 *
 * No bytes of a document, however damaged, make a call crash, hang or read elsewhere. Beside
 * one counter by which places of different documents are told apart there are no globals;
 * no call looks at the locale or sets errno.
 */
#ifndef LIVEBUF_H
#define LIVEBUF_H
