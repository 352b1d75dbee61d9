/*
 * URI templates (RFC 6570), as far as it matters which server offers a resource: an expression may
 * be replaced by any text.
 */

const EXPRESSION = /\{[^{}]*\}/

export function isUriTemplate(uri: string): boolean {
  return EXPRESSION.test(uri)
}

/** Returns true if a URI may be an expansion of the template. Takes linear time. */
export function mayExpandTo(template: string, uri: string): boolean {
  const literals = template.split(EXPRESSION)
  const first = literals[0] ?? ''
  const last = literals.at(-1) ?? ''
  if (literals.length === 1) return template === uri
  const end = uri.length - last.length
  if (!uri.startsWith(first) || !uri.endsWith(last) || end < first.length) return false
  let at = first.length
  for (const literal of literals.slice(1, -1)) {
    const found = uri.indexOf(literal, at)
    if (found < 0) return false
    at = found + literal.length
  }
  return at <= end
}
