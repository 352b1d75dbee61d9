import { defineCodes } from './define.ts'

export const CEL_CODES = defineCodes('PC01', 'Expressions (CEL)', [
  {
    code: 'PC0101',
    severity: 'error',
    title: 'syntax error',
    explanation:
      'The text is not a CEL expression; the caret marks where parsing failed. Common causes ' +
      'are a missing quote or parenthesis, `=` or `and` instead of `==` and `&&`, and a ' +
      'reserved word used as a name. To select a field whose name contains a hyphen or other ' +
      'characters besides letters, digits and `_`, use backquotes or an index.',
    example: {
      language: 'cel',
      wrong: "request.method = 'GET'",
      right: "request.method == 'GET'",
    },
  },
  {
    code: 'PC0102',
    severity: 'error',
    title: 'the expression exceeds a size limit',
    explanation:
      'An expression can have at most 65,536 characters, 20,000 nodes and 200 levels of ' +
      'nesting, so that no configuration can exhaust the memory or the stack of the gateway. ' +
      'The message says which limit was exceeded. Replace a chain of comparisons with the same ' +
      'attribute by `in` with a list. Split unrelated conditions into several rules: each is ' +
      'indexed separately, and a request is allowed if any of the Allow rules matches.',
    example: {
      language: 'cel',
      wrong: "jwt.sub == 'user-1' || jwt.sub == 'user-2' || /* … */ jwt.sub == 'user-90000'",
      right: "jwt.sub in ['user-1', 'user-2']",
      sketch: true,
    },
  },
  {
    code: 'PC0103',
    severity: 'error',
    title: 'unknown variable',
    explanation:
      'No variable of this name exists at any stage. Names are case-sensitive, and all ' +
      'attributes of a request are below a few roots such as `request`, `source`, `destination` ' +
      'and `jwt`. Strings need quotes. An unknown variable never has a value, so the rule could ' +
      'never match: an Allow or Require rule would deny everyone, and a Deny rule would deny no ' +
      'one.',
    example: {
      language: 'cel',
      wrong: "req.method == 'GET'",
      right: "request.method == 'GET'",
    },
  },
  {
    code: 'PC0104',
    severity: 'error',
    title: 'the variable is not available at this stage',
    explanation:
      'The variable exists, but not where this rule runs. Network authorization decides about a ' +
      'connection before any request is read, so it can read `source` and `destination`, but ' +
      'neither `request` nor `jwt`; attributes of the chosen backend are available only after ' +
      'routing. A rule that reads an unavailable variable never matches. Move the rule to a ' +
      'stage where the variable is available, or use another variable.',
    example: {
      language: 'cel',
      stage: 'connection',
      wrong: "request.path.startsWith('/admin')",
      right: "cidr('10.0.0.0/8').containsIP(source.address)",
    },
  },
  {
    code: 'PC0105',
    severity: 'error',
    title: 'unknown function',
    explanation:
      'No function or method of this name exists. Names are case-sensitive: `startsWith`, not ' +
      '`startswith`. Library functions include the name of the library (`math.greatest`, ' +
      '`base64.encode`). Some functions can be called both as a function and as a method, such ' +
      'as `size(x)` and `x.size()`; others, such as `startsWith`, only as a method.',
    example: {
      language: 'cel',
      wrong: "request.path.startswith('/api/')",
      right: "request.path.startsWith('/api/')",
    },
  },
  {
    code: 'PC0106',
    severity: 'error',
    title: 'no overload of the function accepts these arguments',
    explanation:
      'The function or operator exists, but not for these types or this number of arguments: ' +
      '`<` cannot compare an int with a string, and `+` cannot add them. CEL never converts ' +
      'types implicitly, not even to add an int to a double. Convert explicitly with ' +
      '`string(…)`, `int(…)`, `double(…)`, `timestamp(…)` or `duration(…)`. The hint lists the ' +
      'available overloads.',
    example: {
      language: 'cel',
      wrong: "request.path + 1 == '/page1'",
      right: "request.path + string(1) == '/page1'",
    },
  },
  {
    code: 'PC0107',
    severity: 'error',
    title: 'cannot compare an IP address with a string',
    explanation:
      '`source.address` is an IP address, not a string, and a range such as `10.0.0.0/8` is not ' +
      'an address, so the comparison is never true. To test whether an address is within a ' +
      'range, use `cidr(…).containsIP(…)`. A single address can be compared directly, as in ' +
      "`source.address == '10.0.0.7'`, and `string(source.address)` returns the address as a " +
      'string.',
    example: {
      language: 'cel',
      wrong: "source.address == '10.0.0.0/8'",
      right: "cidr('10.0.0.0/8').containsIP(source.address)",
    },
  },
  {
    code: 'PC0108',
    severity: 'error',
    title: 'values of these types are never equal',
    explanation:
      'Both sides of `==`, `!=` or `in` have a known type, and values of these types are never ' +
      'equal, so the result does not depend on the request. Numbers of different types can be ' +
      'compared (`1 == 1.0`). Usually a conversion is missing, or an object is compared instead ' +
      'of one of its fields.',
    example: {
      language: 'cel',
      wrong: "size(request.path) == '64'",
      right: 'size(request.path) == 64',
    },
  },
  {
    code: 'PC0109',
    severity: 'error',
    title: 'the expression is not boolean',
    explanation:
      'A rule matches if its expression is `true`. This expression returns another type, and ' +
      'CEL has no truthiness: a string, a number or a list is never true. Compare the value ' +
      'with something, or test whether a field is present with `has(…)`.',
    example: {
      language: 'cel',
      wrong: "request.headers['x-internal']",
      right: "request.headers['x-internal'] == 'true'",
    },
  },
  {
    code: 'PC0110',
    severity: 'warning',
    title: 'the result is constant',
    explanation:
      'The expression has the same result for every request, because it reads no attribute of ' +
      'the request or because one part decides alone (`… || true`). That is legal, and `true` ' +
      'is a common way to allow “anyone who is authenticated”; but a leftover `|| true` from a ' +
      'test opens what the rule should guard, and a Require rule that is always false closes ' +
      'it. Remove the part that decides, or the rule.',
    example: {
      language: 'cel',
      wrong: "jwt.sub == 'alice' || true",
      right: "jwt.sub == 'alice'",
    },
  },
  {
    code: 'PC0111',
    severity: 'error',
    title: 'unknown field',
    explanation:
      'The variable is an object with a fixed set of fields, and this is not one of them. Names ' +
      'are case-sensitive; the message suggests the closest field. Claims and headers are maps ' +
      'with arbitrary keys: a claim that no token contains is not reported, and the rule does ' +
      'not match.',
    example: {
      language: 'cel',
      wrong: "request.verb == 'GET'",
      right: "request.method == 'GET'",
    },
  },
  {
    code: 'PC0112',
    severity: 'error',
    title: 'invalid constant',
    explanation:
      'A function cannot parse a string constant: a regular expression with a syntax error, an ' +
      'address range with bits outside its prefix or an invalid length, an IP address with ' +
      'leading zeros, a timestamp that is not RFC 3339, or a duration without a unit. The call ' +
      'would fail for every request. Regular expressions use RE2 syntax: look-around and ' +
      'back-references are not supported.',
    example: {
      language: 'cel',
      wrong: "cidr('10.0.0.0/33').containsIP(source.address)",
      right: "cidr('10.0.0.0/8').containsIP(source.address)",
    },
  },
  {
    code: 'PC0113',
    severity: 'error',
    title: 'the expression can cost too much',
    explanation:
      'The worst-case cost of the expression exceeds the limit, usually because macros (`all`, ' +
      '`exists`, `map`, `filter`) are nested over lists whose length the client controls. A ' +
      'single request could delay all others. Replace an inner loop by a set operation (`in`, ' +
      '`sets.contains`, `sets.intersects`), or loop over a list in the configuration.',
    example: {
      language: 'cel',
      wrong: 'jwt.a.exists(x, jwt.b.exists(y, jwt.c.exists(z, jwt.d.exists(w, x + y == z + w))))',
      right: 'sets.intersects(jwt.a, jwt.b)',
    },
  },
  {
    code: 'PC0114',
    severity: 'error',
    title: 'protobuf messages are not supported',
    explanation:
      'CEL can construct protobuf messages with `Name{field: value}`. None of the attributes of ' +
      'a request is a protobuf message, so message types are not supported. Use a map instead, ' +
      'without a name before the brace and with keys in quotes.',
    example: {
      language: 'cel',
      wrong: "Claims{sub: 'alice'}.sub == jwt.sub",
      right: "{'sub': 'alice'}.sub == jwt.sub",
    },
  },
  {
    code: 'PC0115',
    severity: 'warning',
    title: 'the name shadows a variable',
    explanation:
      'The loop variable of a macro, or the name in a `cel.bind`, is also the name of a ' +
      'variable of the request, which cannot be read inside the macro. That is legal but rarely ' +
      'intended, and confuses readers. Choose another name.',
    example: {
      language: 'cel',
      wrong: "jwt.groups.exists(request, request == 'eng')",
      right: "jwt.groups.exists(group, group == 'eng')",
    },
  },
  {
    code: 'PC0116',
    severity: 'error',
    title: 'a rule must be deterministic',
    explanation:
      '`random()` and `uuid()` return a different value with each call. A rule that uses them ' +
      'would decide the same request differently each time: a denial could not be explained, ' +
      'replayed or tested, and nothing could be proven about the rule. They are allowed where ' +
      'no decision is made: in header values, in log and trace attributes, and in filters of ' +
      'logs and traces. To admit a share of the clients, use a stable attribute of the client.',
    example: {
      language: 'cel',
      wrong: 'random() < 0.5',
      right: "jwt.sub.endsWith('7')",
    },
  },
])
