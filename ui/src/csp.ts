/** The nonce that the page's CSP requires on styles that scripts insert. */
export function styleNonce(): string {
  const meta = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')
  return meta?.nonce ?? ''
}
