import type { CodeRecord } from './define.ts'
import { guarded, withToken } from './lint-examples.ts'

const GET = "allow: request.method == 'GET'"

/** Problems of a single rule. */
export const LINT_RULE_CODES: readonly CodeRecord[] = [
  {
    code: 'AZ001',
    severity: 'error',
    title: 'a rule reads a token that is not verified',
    explanation:
      'The rule reads `jwt` (or `apiKey`, `basicAuth`, `extauthz`), but neither its own policy ' +
      'nor an enclosing level configures the authentication that sets it. The rule never ' +
      'matches: an Allow or Require rule denies everyone, and a Deny rule denies no one. ' +
      'Authentication in another policy at the same level does not count. It is a warning if ' +
      'other parts of the rule can still match.',
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
      'Comparing a missing attribute is an error, and a Deny rule that fails does not match: ' +
      "`jwt.group != 'eng'` does not deny requests whose token has no group. This is reported " +
      'only if it is proven that a request without the attribute escapes the rule and nothing ' +
      'else denies it. Use a Require rule for the condition that must be true, or also test for ' +
      'presence.',
    example: {
      language: 'yaml',
      wrong: guarded(GET, "deny: request.headers['x-tier'] != 'gold'"),
      right: guarded(GET, "require: request.headers['x-tier'] == 'gold'"),
    },
  },
  {
    code: 'AZ003',
    severity: 'error',
    title: 'an address is compared with a string',
    explanation:
      '`source.address` is an IP address, not a string, and a range such as `10.0.0.0/8` is not ' +
      'an address, so the comparison is never true. To test for a range, use ' +
      '`cidr(…).containsIP(…)`; a single address can be compared directly. The rule is also ' +
      'rejected as PC0107 when the configuration is loaded.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: source.address == '10.0.0.0/8'"),
      right: guarded("allow: cidr('10.0.0.0/8').containsIP(source.address)"),
    },
  },
  {
    code: 'AZ004',
    severity: 'error',
    title: 'the server name is never available here',
    explanation:
      '`destination.hostname` is the TLS server name. It is only set on listeners with ' +
      '`protocol: TLS`, never on HTTP and HTTPS listeners. There, a Require rule that reads it ' +
      'denies everyone, and a Deny rule never matches. It is an error if this applies to every ' +
      'listener that the rule reaches, and a warning if it applies to some.',
    example: {
      language: 'yaml',
      wrong: guarded("require: destination.hostname == 'api.example.com'"),
      right: guarded("require: request.host == 'api.example.com'"),
    },
  },
  {
    code: 'AZ005',
    severity: 'error',
    title: 'a variable is not available at this stage',
    explanation:
      'The variable exists, but not where the rule runs: a connection has no `request`, and MCP ' +
      'messages are only available to MCP rules. A rule that reads an unavailable variable ' +
      'never matches. Move it to a stage where the variable is available. The rule is also ' +
      'rejected as PC0104 when the configuration is loaded.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: mcp.tool.name == 'echo'"),
      right: guarded("allow: request.path == '/mcp'"),
    },
  },
  {
    code: 'AZ006',
    severity: 'warning',
    title: 'a rule passes if the attribute is missing',
    explanation:
      'An Allow or Require rule of the form `!has(x) || …` is true for every request without x, ' +
      'so clients can bypass it by omitting x. This is reported only if it is proven that such ' +
      'a request passes all rules. Without the test, a missing value makes the rule fail, so it ' +
      'does not match, and the request is denied.',
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
    title: 'the result may not be a boolean',
    explanation:
      'A rule matches only if its result is exactly true. The value of a claim is up to the ' +
      "issuer, and `'true'` or `1` are not true, so the rule silently does not match. Compare " +
      'it with a value. If the type is known and is not boolean, this is an error, and the rule ' +
      'is also rejected as PC0109 when the configuration is loaded.',
    example: {
      language: 'yaml',
      wrong: withToken('allow: jwt.admin'),
      right: withToken('allow: jwt.admin == true'),
    },
  },
  {
    code: 'AZ012',
    severity: 'warning',
    title: 'a path ends within a segment or covers too little',
    explanation:
      "`startsWith('/api')` also matches `/apix`, and a Deny rule for exactly `/admin` leaves " +
      '`/admin/` and everything below it open. Patterns without anchors match anywhere in the ' +
      'path. In a Deny rule, a prefix without a boundary denies too much rather than too ' +
      'little, so it is only a note. This is reported only if the route matches such a path. ' +
      'Paths are always normalized before rules are evaluated.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: request.path.startsWith('/api')"),
      right: guarded("allow: request.path == '/api' || request.path.startsWith('/api/')"),
    },
  },
  {
    code: 'AZ013',
    severity: 'warning',
    title: 'the case of a header name, or trust in a header',
    explanation:
      'Header names are compared in lowercase; writing them in lowercase makes this clear ' +
      '(`--fix` does it). A header that names a user, role or address is not evidence unless ' +
      'something in front of the gateway removes it from requests: anyone can send it. Use ' +
      'claims of a verified token, or a client certificate.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: request.headers['x-user'] == 'alice'"),
      right: withToken("allow: jwt.sub == 'alice'"),
    },
  },
  {
    code: 'AZ014',
    severity: 'warning',
    title: 'a list is compared with a single string',
    explanation:
      '`aud` can be a string or a list, groups and roles are usually lists, and scopes are a ' +
      'single string separated by spaces: a comparison with one value fails as soon as there ' +
      'are two. `contains` searches for a substring, so `read` is found in `read-only`; for ' +
      'claims that are lists, the result depends on how the issuer writes them. Compare the ' +
      'element, or let the provider check the audience.',
    example: {
      language: 'yaml',
      wrong: withToken("allow: jwt.groups == 'eng'"),
      right: withToken('allow: "\'eng\' in jwt.groups"'),
    },
  },
  {
    code: 'AZ019',
    severity: 'warning',
    title: 'a claim or field may be misspelled',
    explanation:
      'The name of the claim resembles one that tokens usually contain or, with `--decisions`, ' +
      'differs by one letter from one that was seen in tokens. A claim that does not exist is ' +
      'never set, so the rule never matches. A field that does not exist at all is an error, ' +
      'and is also rejected as PC0111 when the configuration is loaded.',
    example: {
      language: 'yaml',
      wrong: withToken("allow: jwt.emial == 'a@example.com'"),
      right: withToken("allow: jwt.email == 'a@example.com'"),
    },
  },
]
