// SPDX-License-Identifier: Apache-2.0
// Requests that two parsers may read differently, and what the gateway has to answer to each.
//
// @ in the text is the target of the case, and /smuggled what must never be a request of its own at
// an upstream. statuses: of the answers in their order. n: messages that the upstream gets.

const POST = 'POST @ HTTP/1.1\r\nHost: x\r\n';
const GET = 'GET @ HTTP/1.1\r\nHost: x\r\n';
const HIDDEN = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`;
const LAST = '0\r\n\r\n';
const length = (value, body = '{"a":1}') => `${POST}Content-Length: ${value}\r\n\r\n${body}`;
const coding = (line, body = LAST) => `${POST}${line}\r\n\r\n${body}`;

const refuse = (name, text) => ({ name, text, statuses: [400], n: 0 });
const pass = (name, text) => ({ name, text, statuses: [200], n: 1 });
/** What follows the first message is none. */
const passThenRefuse = (name, text) => ({ name, text, statuses: [200, 400], n: 1 });

export const AMBIGUOUS = [
  // --- both framings ---
  refuse('CL, then TE', `${POST}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n${LAST}G`),
  refuse('TE, then CL', `${POST}Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n${LAST}G`),
  refuse('CL and TE, request behind',
    `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${LAST}${HIDDEN}`),
  refuse('CL and TE identity', `${POST}Content-Length: 2\r\nTransfer-Encoding: identity\r\n\r\n{}`),
  refuse('CL and an unknown TE', `${POST}Content-Length: 2\r\nTransfer-Encoding: x\r\n\r\n{}`),

  // --- transfer codings ---
  pass('TE in capitals', coding('TRANSFER-ENCODING: CHUNKED')),
  pass('TE behind a tab', coding('Transfer-Encoding:\tchunked')),
  pass('TE with spaces behind', coding('Transfer-Encoding: chunked  \t')),
  refuse('TE, space before the colon', coding('Transfer-Encoding : chunked', LAST + HIDDEN)),
  refuse('TE, tab before the colon', coding('Transfer-Encoding\t: chunked', LAST + HIDDEN)),
  refuse('TE with a letter in front', coding('Transfer-Encoding: xchunked')),
  refuse('TE in quotes', coding('Transfer-Encoding: "chunked"')),
  refuse('TE with a vertical tab', coding('Transfer-Encoding: \x0bchunked')),
  refuse('TE with a NUL', coding('Transfer-Encoding: chunked\0')),
  refuse('TE with a parameter', coding('Transfer-Encoding: chunked;q=1')),
  refuse('TE empty', coding('Transfer-Encoding:')),
  refuse('TE folded', coding('Transfer-Encoding:\r\n chunked')),
  refuse('TE folded with a tab', coding('Transfer-Encoding:\r\n\tchunked')),
  refuse('TE twice', coding('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked')),
  refuse('TE and TE identity', coding('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity')),
  refuse('TE and an empty TE', coding('Transfer-Encoding: chunked\r\nTransfer-Encoding:')),
  refuse('TE twice in a list', coding('Transfer-Encoding: chunked, chunked')),
  refuse('TE with a comma', coding('Transfer-Encoding: chunked,')),
  refuse('TE gzip, chunked', coding('Transfer-Encoding: gzip, chunked')),
  refuse('TE chunked, not last', coding('Transfer-Encoding: chunked, gzip')),
  refuse('TE identity', coding('Transfer-Encoding: identity')),
  refuse('TE on 1.0', 'POST @ HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
  passThenRefuse('TE with an underscore', coding('Transfer_Encoding: chunked')),
  refuse('TE behind a bare LF', `${POST}X: y\nTransfer-Encoding: chunked\r\n\r\n${LAST}`),
  refuse('TE behind a bare CR', `${POST}X: y\rTransfer-Encoding: chunked\r\n\r\n${LAST}`),

  // --- lengths ---
  pass('CL with spaces behind', length('7  ')),
  pass('CL with a zero in front', length('07')),
  refuse('CL twice, the same', length('7\r\nContent-Length: 7')),
  refuse('CL twice, others', length(`0\r\nContent-Length: ${HIDDEN.length}`, HIDDEN)),
  refuse('CL as a list', length('7, 7')),
  refuse('CL with a plus', length('+7')),
  refuse('CL with a minus', length('-7')),
  refuse('CL in hex', length('0x7')),
  refuse('CL with an exponent', length('1e1')),
  refuse('CL with a space inside', length('1 0')),
  refuse('CL empty', length('')),
  refuse('CL over 64 bits', length('18446744073709551623')),
  refuse('CL over 63 bits', length('9223372036854775808')),
  refuse('CL folded', length('1\r\n 0')),
  refuse('CL with a NUL', length('7\0')),
  refuse('CL, space before the colon', `${POST}Content-Length : 7\r\n\r\n{"a":1}`),
  { ...refuse('CL of 8 EiB', length('9223372036854775807')), statuses: [413] },
  pass('CL nominated by Connection', `${POST}Connection: Content-Length\r\nContent-Length: 7\r\n\r\n{"a":1}`),
  pass('TE nominated by Connection', `${POST}Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n${LAST}`),
  pass('Host nominated by Connection', `${GET}Connection: Host, keep-alive\r\n\r\n`),

  // --- chunks ---
  pass('chunk extension', `${CHUNKED}7;a=b;c="d"\r\n{"a":1}\r\n${LAST}`),
  pass('chunk size with zeros', `${CHUNKED}0000007\r\n{"a":1}\r\n${LAST}`),
  refuse('chunk size ended by LF', `${CHUNKED}7\n{"a":1}\r\n${LAST}`),
  refuse('chunk size, space behind', `${CHUNKED}7 \r\n{"a":1}\r\n${LAST}`),
  refuse('chunk size, space in front', `${CHUNKED} 7\r\n{"a":1}\r\n${LAST}`),
  refuse('chunk size 0x7', `${CHUNKED}0x7\r\n{"a":1}\r\n${LAST}`),
  refuse('chunk size +7', `${CHUNKED}+7\r\n{"a":1}\r\n${LAST}`),
  refuse('chunk size -1', `${CHUNKED}-1\r\n{"a":1}\r\n${LAST}`),
  refuse('chunk size empty', `${CHUNKED}\r\n{"a":1}\r\n${LAST}`),
  refuse('chunk size of 17 digits', `${CHUNKED}10000000000000007\r\n{"a":1}\r\n${LAST}`),
  refuse('chunk of 16 EiB', `${CHUNKED}ffffffffffffffff0\r\n{"a":1}\r\n${LAST}`),
  refuse('chunk without CRLF behind', `${CHUNKED}7\r\n{"a":1}${LAST}`),
  refuse('chunk with LF behind', `${CHUNKED}7\r\n{"a":1}\n${LAST}`),
  refuse('chunk longer than told', `${CHUNKED}2\r\n{"a":1}\r\n${LAST}`),
  refuse('extension with LF', `${CHUNKED}7;a\n{"a":1}\r\n${LAST}`),
  refuse('extension with CR', `${CHUNKED}7;a\rb\r\n{"a":1}\r\n${LAST}`),
  refuse('extension of 100 KiB', `${CHUNKED}7;${'a'.repeat(100 * 1024)}\r\n{"a":1}\r\n${LAST}`),
  refuse('last chunk ended by LF', `${CHUNKED}7\r\n{"a":1}\r\n0\n\n`),
  refuse('last line ended by LF', `${CHUNKED}7\r\n{"a":1}\r\n0\r\n\n`),
  pass('trailers', `${CHUNKED}7\r\n{"a":1}\r\n0\r\nX-Trailer: 1\r\n\r\n`),
  pass('trailers with a length and a host',
    `${CHUNKED}7\r\n{"a":1}\r\n0\r\nContent-Length: 50\r\nHost: y\r\nTransfer-Encoding: x\r\n\r\n`),
  refuse('trailer without a name', `${CHUNKED}7\r\n{"a":1}\r\n0\r\n: 1\r\n\r\n`),
  refuse('trailer folded', `${CHUNKED}7\r\n{"a":1}\r\n0\r\nX: 1\r\n 2\r\n\r\n`),

  // --- lines and fields ---
  refuse('lines ended by LF', 'GET @ HTTP/1.1\nHost: x\n\n'),
  refuse('one line ended by LF', 'GET @ HTTP/1.1\r\nHost: x\nA: b\r\n\r\n'),
  refuse('head ended by LF CRLF', 'GET @ HTTP/1.1\r\nHost: x\n\r\n'),
  refuse('CR CR LF', 'GET @ HTTP/1.1\r\nHost: x\r\r\n\r\n'),
  refuse('CR in a value', `${GET}A: b\rc\r\n\r\n`),
  refuse('NUL in a value', `${GET}A: b\0c\r\n\r\n`),
  refuse('NUL in a name', `${GET}A\0: b\r\n\r\n`),
  refuse('field without a name', `${GET}: b\r\n\r\n`),
  refuse('field without a colon', `${GET}A\r\n\r\n`),
  refuse('field name with a space', `${GET}A b: c\r\n\r\n`),
  refuse('field name beyond ASCII', `${GET}\xc3\xa4: b\r\n\r\n`),
  refuse('field in brackets', `${GET}A(b): c\r\n\r\n`),
  refuse('space in front of the first field', 'GET @ HTTP/1.1\r\n Host: x\r\n\r\n'),
  refuse('fold', `${GET}A: b\r\n c\r\n\r\n`),

  // --- request line ---
  refuse('two spaces', 'GET  @ HTTP/1.1\r\nHost: x\r\n\r\n'),
  refuse('two spaces behind the target', 'GET @  HTTP/1.1\r\nHost: x\r\n\r\n'),
  refuse('tab', 'GET\t@ HTTP/1.1\r\nHost: x\r\n\r\n'),
  refuse('space in the target', 'GET @ HTTP/1.1 HTTP/1.1\r\nHost: x\r\n\r\n'),
  refuse('space behind the version', 'GET @ HTTP/1.1 \r\nHost: x\r\n\r\n'),
  refuse('space in front', ' GET @ HTTP/1.1\r\nHost: x\r\n\r\n'),
  refuse('form feed in the target', 'GET @\x0c HTTP/1.1\r\nHost: x\r\n\r\n'),
  refuse('HTTP/0.9', 'GET @\r\n\r\n'),
  refuse('HTTP/1.2', 'GET @ HTTP/1.2\r\nHost: x\r\n\r\n'),
  refuse('HTTP/1.01', 'GET @ HTTP/1.01\r\nHost: x\r\n\r\n'),
  refuse('HTTP/2.0', 'GET @ HTTP/2.0\r\nHost: x\r\n\r\n'),
  refuse('http/1.1', 'GET @ http/1.1\r\nHost: x\r\n\r\n'),
  refuse('HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  pass('method in lower case', 'get @ HTTP/1.1\r\nHost: x\r\n\r\n'),
  refuse('method with a colon', 'GE:T @ HTTP/1.1\r\nHost: x\r\n\r\n'),
  refuse('CONNECT', 'CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n'),
  pass('one empty line in front', `\r\n${GET}\r\n`),
  refuse('three empty lines in front', `\r\n\r\n\r\n${GET}\r\n`),
  refuse('LF in front', `\n${GET}\r\n`),

  // --- host ---
  pass('a URL with another host', 'GET http://other@ HTTP/1.1\r\nHost: x\r\n\r\n'),
  refuse('a URL without a path', 'GET http://x?q=@ HTTP/1.1\r\nHost: x\r\n\r\n'),
  refuse('another scheme', 'GET file://x@ HTTP/1.1\r\nHost: x\r\n\r\n'),
  refuse('no Host', 'GET @ HTTP/1.1\r\n\r\n'),
  refuse('two Hosts', 'GET @ HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n'),
  refuse('an empty Host', 'GET @ HTTP/1.1\r\nHost:\r\n\r\n'),
  refuse('a Host that is a list', 'GET @ HTTP/1.1\r\nHost: x, y\r\n\r\n'),
  refuse('a Host with a path', 'GET @ HTTP/1.1\r\nHost: x/y\r\n\r\n'),
  refuse('a Host with a user', 'GET @ HTTP/1.1\r\nHost: x@y\r\n\r\n'),

  // --- what asks for more ---
  pass('Upgrade: h2c',
    `${GET}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`),
  refuse('another expectation', `${POST}Expect: 200-ok\r\nContent-Length: 7\r\n\r\n{"a":1}`),
  refuse('two expectations', `${POST}Expect: 100-continue, x\r\nContent-Length: 7\r\n\r\n{"a":1}`),
  pass('Expect on 1.0', 'POST @ HTTP/1.0\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 7\r\n\r\n{"a":1}'),

  // --- a second request ---
  pass('a request in a body', length(HIDDEN.length, HIDDEN)),
  pass('a request in a body of GET', `${GET}Content-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`),
  pass('a request in a chunk', `${CHUNKED}${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n${LAST}`),
  pass('a request in a body of HEAD',
    `HEAD @ HTTP/1.1\r\nHost: x\r\nContent-Length: ${HIDDEN.length}\r\n\r\n${HIDDEN}`),
  refuse('a request behind an error', `GET @ HTTP/3\r\n\r\n${HIDDEN}`),
  refuse('a request behind a bad chunk', `${CHUNKED}zz\r\n${HIDDEN}`),
  pass('a request behind Connection: close', `${GET}Connection: close\r\n\r\n${HIDDEN}`),
  pass('a request behind 1.0', `GET @ HTTP/1.0\r\nHost: x\r\n\r\n${HIDDEN}`),
  passThenRefuse('a body without a length', `${POST}\r\n{"a":1}\r\n\r\n`),
];
