/**
 * The source of an error: the first line of its stack in Portcullis code, such as
 * `src/policies/cors/compile.ts:30:5`. The installation directory is omitted.
 */
export function ownFrame(error: unknown): string | undefined {
  const stack = error instanceof Error ? error.stack : undefined
  if (stack === undefined) return undefined
  for (const line of stack.split('\n')) {
    if (!/^\s+at /.test(line) || line.includes('(node:') || line.includes('at node:')) continue
    if (line.includes('node_modules') || line.includes('(<anonymous>)')) continue
    // In a line of generated code, the last position is inside that code, which has no file; the
    // position in the file that generates it precedes it, after `eval at`.
    const found =
      /((?:[^\s()]*?\/)?(?:src|test|bin|dist)\/[^\s()]*:\d+:\d+)|([^\s()/]+:\d+:\d+)/.exec(line)
    const place = found?.[1] ?? found?.[2]
    if (place !== undefined) return place.replace(/^.*\/(?=(?:src|test|bin|dist)\/)/, '')
  }
  return undefined
}
