import type { CodeRecord } from './define.ts'
import { corsRoute, guarded, TAIL, withToken } from './lint-examples.ts'

const SLASHES = "deny: request.path == '/admin' || request.path.startsWith('/admin/')"
const NOT_MERGED = `frontendPolicies:\n  http: { mergeSlashes: false }\ngateways:\n  default: { port: 8080 }\n`

/** What is written otherwise than it is meant. */
export const LINT_TEXT_CODES: readonly CodeRecord[] = [
  {
    code: 'AZ022',
    severity: 'error',
    title: 'a method, host or path is compared with what it never is',
    explanation:
      'The gateway rejects methods with lower-case letters, `request.host` is in lower case and ' +
      'has no port, and `request.path` begins with a slash, has no query and no dot segments. A ' +
      'comparison with anything else is never true. If the rule can never match because of it, it ' +
      'is an error, and the gateway does not start with it; otherwise it is a warning.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: request.method == 'get'"),
      right: guarded("allow: request.method == 'GET'"),
    },
  },
  {
    code: 'AZ023',
    severity: 'warning',
    title: 'a text is compared as if it were a pattern',
    explanation:
      '`==` and `in` compare with the text as it is written: a `*` in it is an ordinary character, so ' +
      "`'/api/*'` is that one path and none below `/api/`. Use `startsWith` for a prefix, " +
      '`endsWith` for a suffix, or `matches` with a regular expression.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: request.path == '/api/*'"),
      right: guarded("allow: request.path.startsWith('/api/')"),
    },
  },
  {
    code: 'AZ024',
    severity: 'warning',
    title: 'claims are read below `jwt.claims`',
    explanation:
      '`jwt` is the claims of the token, so the subject is `jwt.sub`. `jwt.claims.sub` reads a ' +
      'claim with the name `claims`, which hardly any issuer writes: the rule then never matches.',
    example: {
      language: 'yaml',
      wrong: withToken("allow: jwt.claims.sub == 'alice'"),
      right: withToken("allow: jwt.sub == 'alice'"),
    },
  },
  {
    code: 'AZ025',
    severity: 'warning',
    title: 'preflights do not reach the route of a CORS policy',
    explanation:
      'Before a request to another origin a browser sends a preflight with OPTIONS. It has the ' +
      'path of the request and names its method, which is enough to match a route, but none of ' +
      'its headers. A route that matches by such a header is not found, and the browser never ' +
      'sends the request. Match by path or method alone, or set the policy on the gateway.',
    example: {
      language: 'yaml',
      wrong: corsRoute(
        'allowMethods: [PUT]',
        'headers: [{ name: x-version, value: { exact: "2" } }]',
      ),
      right: corsRoute('allowMethods: [PUT]', 'method: PUT'),
    },
  },
  {
    code: 'AZ026',
    severity: 'warning',
    title: 'pages of every origin may use the credentials of users',
    explanation:
      'With `allowCredentials` a browser sends cookies and the like with requests of other pages ' +
      'and shows them the response. With `*` in `allowOrigins` these are the pages of everyone, ' +
      'as the gateway repeats the origin of each request. List the origins that you trust, ' +
      'or leave out the credentials.',
    example: {
      language: 'yaml',
      wrong: corsRoute('allowCredentials: true', 'method: GET', "'*'"),
      right: corsRoute('allowCredentials: true', 'method: GET'),
    },
  },
  {
    code: 'AZ027',
    severity: 'warning',
    title: 'a Deny rule on a path that is not merged',
    explanation:
      'With `mergeSlashes: false` a path keeps its adjacent slashes, and `//admin` is not ' +
      '`/admin`: a Deny rule on a path does not match it, while many servers behind the gateway ' +
      'serve both as the same. Leave out the setting, or say with Allow rules which paths are ' +
      'allowed.',
    example: {
      language: 'yaml',
      wrong: unmerged(SLASHES),
      right: unmerged("allow: request.path.startsWith('/public/')"),
    },
  },
]

function unmerged(rule: string): string {
  const allow = rule.startsWith('deny') ? "      - allow: request.method == 'GET'\n" : ''
  return `${NOT_MERGED}routes:\n- name: api\n  policies:\n    authorization:\n      rules:\n${allow}      - ${rule}\n${TAIL}`
}
