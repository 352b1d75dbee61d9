/** RFC 9110 §7.8: a server only switches to protocols that the client named. */
export function isAsked(asked: string, chosen: string): boolean {
  const names = asked.split(', ')
  return chosen !== '' && chosen.split(', ').every((name) => names.includes(name))
}
