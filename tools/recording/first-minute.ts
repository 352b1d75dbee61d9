/** The path of the recording, from the root. */
export const FIRST_MINUTE = 'docs/getting-started/first-minute.cast'

/** The lines of README's first minute to type while the gateway runs. */
export function linesToType(readme: string): readonly string[] {
  const blocks = [...readme.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block)
  const block = blocks.find((one) => one.startsWith('curl')) ?? ''
  return block
    .replaceAll(/ *\\\n\s*/g, ' ')
    .trim()
    .split('\n')
}
