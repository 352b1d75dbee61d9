/**
 * Whether an Origin, in lower case, has the host and port of a request. The scheme is not compared,
 * since TLS may be terminated in front of the gateway.
 */
export function isSameHost(origin: string, host: string): boolean {
  const [, scheme = '', own = ''] =
    /^(https?):\/\/([^/?#@]+)$/.exec(withoutImpliedPort(origin)) ?? []
  return (
    own !== '' && withoutImpliedPort(`${scheme}://${host.toLowerCase()}`) === `${scheme}://${own}`
  )
}

export function withoutImpliedPort(origin: string): string {
  return origin.replace(/^(http:.*):80$|^(https:.*):443$/, '$1$2')
}
