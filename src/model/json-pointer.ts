/** The path from a value to something in it: member names and item indexes. */
export type Steps = readonly string[]

/** RFC 6901. */
export function stepsOf(pointer: string): Steps {
  return pointer.split('/').slice(1).map(unescapeStep)
}

export function pointerOf(steps: Steps): string {
  return steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

export function unescapeStep(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}
