import { defineCodes } from './define.ts'

export const CEL_CODES = defineCodes('PC01', 'Expressions (CEL)', [
  {
    code: 'PC0101',
    severity: 'error',
    title: 'syntax error',
    explanation:
      'The text is not a CEL expression: the caret marks where the expression stopped making sense. ' +
      'Common causes are a missing quote or parenthesis, `=` or `and` in place of `==` and `&&`, ' +
      'and a reserved word used as a name. A field whose name has a hyphen or another character ' +
      'outside letters, digits and `_` is written with backquotes or as an index.',
    example: {
      language: 'cel',
      wrong: "request.method = 'GET'",
      right: "request.method == 'GET'",
    },
  },
  {
    code: 'PC0102',
    severity: 'error',
    title: 'the expression is too long, too deep or has too many parts',
    explanation:
      'An expression has at most 65,536 characters, 20,000 parts and 200 levels of nesting, so ' +
      'that no configuration can exhaust the memory or the stack of the gateway. The message says ' +
      'which of the three was exceeded. A chain of comparisons with one attribute is shorter as ' +
      '`in` with a list. Conditions that have nothing to do with each other are better as several ' +
      'rules: each is looked up by itself, and a block of Allow rules admits what one of them matches.',
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
      'No variable of this name exists at any stage. Names are case-sensitive, and everything ' +
      'about a request hangs under a few roots such as `request`, `source`, `destination` and ' +
      '`jwt`. A word that was meant as text needs quotes. An unknown variable would never have a ' +
      'value, so the rule could never match: an Allow or Require rule would deny everyone and a Deny rule would deny no one.',
    example: {
      language: 'cel',
      wrong: "req.method == 'GET'",
      right: "request.method == 'GET'",
    },
  },
  {
    code: 'PC0104',
    severity: 'error',
    title: 'the variable is never set at this stage',
    explanation:
      'The variable exists, but not yet or not any more where this rule runs. Network ' +
      'authorization decides about a connection before any request was read, so it knows ' +
      '`source` and `destination` but neither `request` nor `jwt`; what describes the chosen ' +
      'backend is known only after routing. A rule that reads a variable that is never set never ' +
      'matches. Move the rule to the stage that knows the variable, or use one that this stage ' +
      'has.',
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
      '`startswith`. Functions of a library carry its name (`math.greatest`, `base64.encode`). ' +
      'Some functions are written before their argument and some behind it: `size(x)` and ' +
      '`x.size()` both exist, but `startsWith` is a method only.',
    example: {
      language: 'cel',
      wrong: "request.path.startswith('/api/')",
      right: "request.path.startsWith('/api/')",
    },
  },
  {
    code: 'PC0106',
    severity: 'error',
    title: 'no function of this name takes these arguments',
    explanation:
      'The function or operator exists, but not for values of these types, or not with this ' +
      'number of arguments: `<` has no order for an int and a string, `+` no sum. CEL converts ' +
      'nothing on its own, not even an int that is added to a double. Convert explicitly with ' +
      '`string(…)`, `int(…)`, `double(…)`, `timestamp(…)` or `duration(…)`. The hint lists forms ' +
      'that exist.',
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
      '`source.address` is an IP address, not text, and a range such as `10.0.0.0/8` is not an ' +
      'address: the comparison is never true for any client. Test whether the address lies in ' +
      'a range with `cidr(…).containsIP(…)`. One exact address may be compared as it is, ' +
      "`source.address == '10.0.0.7'`, and `string(source.address)` gives the text where text is " +
      'needed.',
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
      'Both sides of `==`, `!=` or `in` have a known type, and values of these two types are never ' +
      'equal, so the outcome does not depend on the request. Numbers of different kinds do compare ' +
      '(`1 == 1.0`). Usually one side is missing a conversion, or a whole object is compared where ' +
      'one of its fields was meant.',
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
      'A rule matches when its expression is `true`. This one yields a value of another type, ' +
      'and there is no notion of truthiness in CEL: a string, a number or a list is never true. ' +
      'Compare the value with something, or test that a field is present with `has(…)`.',
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
      'The expression gives the same result for every request, because it reads nothing of the ' +
      'request or because one part decides alone (`… || true`). That is legal, and `true` is a ' +
      'common way to say “anyone who is authenticated”; but a left-over `|| true` from a trial ' +
      'opens what the rule was to guard, and a Require that is constantly false closes it. ' +
      'Remove the part that decides, or the whole rule.',
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
      'are case-sensitive; the message names the nearest field. Claims of a token and headers ' +
      'are maps, whose keys are not known beforehand: a claim that no token has gives no message, ' +
      'the rule just does not match.',
    example: {
      language: 'cel',
      wrong: "request.verb == 'GET'",
      right: "request.method == 'GET'",
    },
  },
  {
    code: 'PC0112',
    severity: 'error',
    title: 'a constant is invalid',
    explanation:
      'A text constant is handed to a function that cannot read it: a regular expression with a ' +
      'syntax error, an address range with bits outside its prefix or a bad length, an IP address ' +
      'with leading zeros, a timestamp that is not RFC 3339, a duration without a unit. The call ' +
      'would fail on every request. Regular expressions are RE2: no look-around, no ' +
      'back-references.',
    example: {
      language: 'cel',
      wrong: "cidr('10.0.0.0/33').containsIP(source.address)",
      right: "cidr('10.0.0.0/8').containsIP(source.address)",
    },
  },
  {
    code: 'PC0113',
    severity: 'error',
    title: 'the expression may cost too much',
    explanation:
      'The worst case of the expression is over the bound: usually one macro (`all`, `exists`, ' +
      '`map`, `filter`) inside another over lists whose length the client decides. One request ' +
      'could hold up all others. Replace an inner loop by a set test (`in`, `sets.contains`, ' +
      '`sets.intersects`), or loop over a list that the configuration writes down.',
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
      'CEL can build protobuf messages with `Name{field: value}`. Nothing that the gateway knows ' +
      'about a request is a protobuf message, so there is nothing to build. A map is written ' +
      'without a name in front of the brace, with its keys in quotes.',
    example: {
      language: 'cel',
      wrong: "Claims{sub: 'alice'}.sub == jwt.sub",
      right: "{'sub': 'alice'}.sub == jwt.sub",
    },
  },
  {
    code: 'PC0115',
    severity: 'warning',
    title: 'the name hides a variable',
    explanation:
      'The loop variable of a macro, or the name of a `cel.bind`, is the name of a variable of ' +
      'the request, which cannot be read inside. That is legal but seldom meant, and a reader ' +
      'will take one for the other. Choose another name.',
    example: {
      language: 'cel',
      wrong: "jwt.groups.exists(request, request == 'eng')",
      right: "jwt.groups.exists(group, group == 'eng')",
    },
  },
  {
    code: 'PC0116',
    severity: 'error',
    title: 'a rule must not depend on chance',
    explanation:
      '`random()` and `uuid()` differ from call to call. A rule that reads them would decide the ' +
      'same request differently each time: a denial could not be explained, replayed or tested, ' +
      'and nothing could be proven about the rule. They are allowed where nothing is decided: in ' +
      'header values, in log and trace attributes, and in the filters of logs and traces. To ' +
      'admit a share of the clients, decide by something that a client keeps.',
    example: {
      language: 'cel',
      wrong: 'random() < 0.5',
      right: "jwt.sub.endsWith('7')",
    },
  },
])
