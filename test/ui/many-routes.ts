/** One route has rules, the others have none; each has a backend of its own. */
export function manyRoutes(count: number): string {
  const numbers = Array.from({ length: count }, (_, index) => index)
  const routes = numbers.map((index) => {
    const rules = "[{ allow: \"request.headers['x-team'] == 'eng'\" }]"
    const policies = index === 0 ? `\n  policies: { authorization: { rules: ${rules} } }` : ''
    const name = index === 0 ? 'api' : `route-${index}`
    return `- name: ${name}
  matches: [{ path: { pathPrefix: /service/${index} } }]${policies}
  backends: [{ backend: backend-${index} }]`
  })
  const backends = numbers.map((index) => `- { name: backend-${index}, host: 127.0.0.1:BACKEND }`)
  return `gateways:
  default: { port: PORT }
routes:
${routes.join('\n')}
backends:
${backends.join('\n')}
`
}
