/** A complete configuration with one rule, for the examples on error pages. */
export function guarded(...rules: readonly string[]): string {
  return `${HEAD}    authorization:\n      rules:\n${listOf(rules)}\n${TAIL}`
}

/** The same on a route that requires a token. */
export function withToken(...rules: readonly string[]): string {
  return `${HEAD}${TOKEN}    authorization:\n      rules:\n${listOf(rules)}\n${TAIL}`
}

/** A route with a CORS policy. */
export function corsRoute(more: string, match: string, origin = 'https://app.example.com'): string {
  const cors = `    cors: { allowOrigins: [${origin}], ${more} }\n`
  const matches = `  matches:\n  - path: { pathPrefix: /api }\n    ${match}\n`
  return `${GATEWAY}routes:\n- name: api\n${matches}  policies:\n${cors}${TAIL}`
}

export const GATEWAY = 'gateways:\n  default: { port: 8080 }\n'

const HEAD = `${GATEWAY}routes:\n- name: api\n  policies:\n`
export const TAIL = '  backends:\n  - host: api:8080'
const TOKEN =
  '    jwtAuthentication:\n      issuer: https://issuer.example.com\n      audiences: [api]\n' +
  '      jwks: { url: "https://issuer.example.com/keys" }\n'

function listOf(rules: readonly string[]): string {
  return rules.map((rule) => `      - ${rule}`).join('\n')
}
