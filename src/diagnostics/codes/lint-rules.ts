import type { CodeRecord } from './define.ts'
import { guarded, withToken } from './lint-examples.ts'

const GET = "allow: request.method == 'GET'"

/** What is wrong with one rule by itself. */
export const LINT_RULE_CODES: readonly CodeRecord[] = [
  {
    code: 'AZ001',
    severity: 'error',
    title: 'a rule reads a token that is not verified',
    explanation:
      'The rule reads `jwt` (or `apiKey`, `basicAuth`, `extauthz`), and neither its own policy ' +
      'nor an enclosing level has the authentication that would set it. The rule then never ' +
      'matches: an Allow or Require rule denies everyone, and a Deny rule denies no one. An ' +
      'authentication of another policy at the same level does not count. It is a ' +
      'warning where other parts of the rule can still match.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: jwt.sub == 'alice'"),
      right: withToken("allow: jwt.sub == 'alice'"),
    },
  },
  {
    code: 'AZ002',
    severity: 'error',
    title: 'a Deny rule that is skipped when the attribute is missing',
    explanation:
      'A comparison with something that is absent is an error, and a Deny rule that errors does ' +
      "not fire: `jwt.group != 'eng'` does not deny requests whose token has no group. It is reported only " +
      'if a request without the attribute is proven to escape the rule and nothing else ' +
      'denies it. Say what must hold with Require instead, or test the presence as well.',
    example: {
      language: 'yaml',
      wrong: guarded(GET, "deny: request.headers['x-tier'] != 'gold'"),
      right: guarded(GET, "require: request.headers['x-tier'] == 'gold'"),
    },
  },
  {
    code: 'AZ003',
    severity: 'error',
    title: 'an address is compared with text',
    explanation:
      '`source.address` is an IP address and not a text, and a range such as `10.0.0.0/8` is not ' +
      'an address: the comparison is never true for any client. A range is tested with ' +
      '`cidr(…).containsIP(…)`; one exact address may be compared as it is. The reader of the configuration rejects the rule as PC0107.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: source.address == '10.0.0.0/8'"),
      right: guarded("allow: cidr('10.0.0.0/8').containsIP(source.address)"),
    },
  },
  {
    code: 'AZ004',
    severity: 'error',
    title: 'the server name is never known here',
    explanation:
      '`destination.hostname` is the server name of TLS, and it is set on listeners with ' +
      '`protocol: TLS` alone, never on HTTP and HTTPS ones. A Require rule on it closes such a ' +
      'listener for everyone, and a Deny rule never fires. It is an error where it holds for ' +
      'every listener that the rule reaches, and a warning where it holds for some.',
    example: {
      language: 'yaml',
      wrong: guarded("require: destination.hostname == 'api.example.com'"),
      right: guarded("require: request.host == 'api.example.com'"),
    },
  },
  {
    code: 'AZ005',
    severity: 'error',
    title: 'a variable that this stage does not have',
    explanation:
      'The variable exists, but not where the rule runs: a connection has no `request`, and MCP ' +
      'messages are known to MCP rules alone. A rule that reads what is never set never matches. ' +
      'Move it to the stage that knows the variable. The reader of the configuration rejects the rule as PC0104.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: mcp.tool.name == 'echo'"),
      right: guarded("allow: request.path == '/mcp'"),
    },
  },
  {
    code: 'AZ006',
    severity: 'warning',
    title: 'a rule that holds for who lacks what it looks at',
    explanation:
      'An Allow or Require rule of the form `!has(x) || …` is true for every request without x, ' +
      'so leaving something out is a way past it. It is reported only if such a request is proven to pass all rules. Without the test, a missing value makes the rule an error, which does not match, and so denies.',
    example: {
      language: 'yaml',
      wrong: guarded(
        "require: \"!('x-tier' in request.headers) || request.headers['x-tier'] == 'gold'\"",
      ),
      right: guarded("require: request.headers['x-tier'] == 'gold'"),
    },
  },
  {
    code: 'AZ011',
    severity: 'warning',
    title: 'what comes out may be no boolean',
    explanation:
      'A rule matches only when it is exactly true. A claim is whatever the issuer wrote, and ' +
      "`'true'` or `1` are not true, so the rule silently does not match. Compare it with a " +
      'value. Where the type is known and is not boolean the reader of the configuration rejects the rule as PC0109, and this is an error.',
    example: {
      language: 'yaml',
      wrong: withToken('allow: jwt.admin'),
      right: withToken('allow: jwt.admin == true'),
    },
  },
  {
    code: 'AZ012',
    severity: 'warning',
    title: 'a path that ends within a segment, or covers too little',
    explanation:
      "`startsWith('/api')` also matches `/apix`, and a Deny rule for exactly `/admin` leaves " +
      '`/admin/` and everything below it open. Patterns that are not anchored match anywhere in ' +
      'the path. A prefix without boundary in a Deny rule denies too much rather than too little and is only a note. It is reported only if the route takes such a path. Paths are ' +
      'always normalised before rules see them.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: request.path.startsWith('/api')"),
      right: guarded("allow: request.path == '/api' || request.path.startsWith('/api/')"),
    },
  },
  {
    code: 'AZ013',
    severity: 'warning',
    title: 'the name of a header, or what it is trusted for',
    explanation:
      'Names of headers are compared in lower case; writing them so avoids the thought that ' +
      'the case matters (`--fix` does it). A header that names a user, role or address says nothing about the client unless something in front of the gateway removes it from requests: anyone can send it. Use claims of a verified token, or a client certificate.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: request.headers['x-user'] == 'alice'"),
      right: withToken("allow: jwt.sub == 'alice'"),
    },
  },
  {
    code: 'AZ014',
    severity: 'warning',
    title: 'a list is compared with one text',
    explanation:
      '`aud` may be a text or a list, groups and roles are usually lists, and scopes are one text ' +
      'with spaces between: comparing them with one value fails as soon as there are two. ' +
      '`contains` looks for a part of a string, so that `read` is found in `read-only`; on a ' +
      'claim that is a list it depends on how the issuer writes it. Compare the element, or let the provider check the audience.',
    example: {
      language: 'yaml',
      wrong: withToken("allow: jwt.groups == 'eng'"),
      right: withToken('allow: "\'eng\' in jwt.groups"'),
    },
  },
  {
    code: 'AZ019',
    severity: 'warning',
    title: 'a claim or field that may be misspelt',
    explanation:
      'The claim looks like a slip in typing one that tokens usually have or, with ' +
      '`--decisions`, differs by a letter from one that was seen in tokens. A claim that does ' +
      'not exist is never set, so the rule never matches. A field that does not exist at all is ' +
      'rejected by the reader of the configuration as PC0111, and is an error.',
    example: {
      language: 'yaml',
      wrong: withToken("allow: jwt.emial == 'a@example.com'"),
      right: withToken("allow: jwt.email == 'a@example.com'"),
    },
  },
]
