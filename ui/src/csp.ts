/** What styles that scripts write must carry: the page's policy allows no others. */
export function styleNonce(): string {
  const meta = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')
  return meta?.nonce ?? ''
}
