import type { CodeRecord } from './define.ts'
import { corsRoute, guarded, TAIL, withToken } from './lint-examples.ts'

const SLASHES = "deny: request.path == '/admin' || request.path.startsWith('/admin/')"
const NOT_MERGED = `frontendPolicies:\n  http: { mergeSlashes: false }\ngateways:\n  default: { port: 8080 }\n`

/** Rules whose text does not say what was meant. */
export const LINT_TEXT_CODES: readonly CodeRecord[] = [
  {
    code: 'AZ022',
    severity: 'error',
    title: 'a method, host or path is compared with an impossible value',
    explanation:
      'The gateway rejects methods with lowercase letters; `request.host` is in lowercase and ' +
      'has no port; `request.path` starts with a slash and has no query and no dot segments. A ' +
      'comparison with any other value is never true. If the rule can therefore never match, it ' +
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
    title: 'a string is compared as if it were a pattern',
    explanation:
      "`==` and `in` compare strings literally: a `*` is an ordinary character, so `'/api/*'` " +
      'is exactly that path and does not match paths below `/api/`. Use `startsWith` for a ' +
      'prefix, `endsWith` for a suffix, or `matches` with a regular expression.',
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
      '`jwt` contains the claims of the token, so the subject is `jwt.sub`. `jwt.claims.sub` ' +
      'reads a claim named `claims`, which hardly any issuer uses: the rule never matches.',
    example: {
      language: 'yaml',
      wrong: withToken("allow: jwt.claims.sub == 'alice'"),
      right: withToken("allow: jwt.sub == 'alice'"),
    },
  },
  {
    code: 'AZ025',
    severity: 'warning',
    title: 'preflight requests do not reach the route of a CORS policy',
    explanation:
      'Before a cross-origin request, a browser sends a preflight request with OPTIONS. It ' +
      'contains the path and method of the actual request, which are enough to match a route, ' +
      'but none of its headers. A route that matches such a header is not found, and the ' +
      'browser never sends the request. Match only paths and methods, or set the policy on the ' +
      'gateway.',
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
    title: 'pages of any origin can use the credentials of users',
    explanation:
      'With `allowCredentials`, browsers send credentials such as cookies with requests from ' +
      'other pages and show them the response. With `*` in `allowOrigins`, this applies to all ' +
      'pages, because the gateway echoes the origin of each request. List the origins that you ' +
      'trust, or remove `allowCredentials`.',
    example: {
      language: 'yaml',
      wrong: corsRoute('allowCredentials: true', 'method: GET', "'*'"),
      right: corsRoute('allowCredentials: true', 'method: GET'),
    },
  },
  {
    code: 'AZ027',
    severity: 'warning',
    title: 'a Deny rule on a path with unmerged slashes',
    explanation:
      'With `mergeSlashes: false`, paths keep adjacent slashes, and `//admin` is not `/admin`: ' +
      'a Deny rule on the path does not match it, but many backends treat both the same. Remove ' +
      'the setting, or use Allow rules to list the allowed paths.',
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
