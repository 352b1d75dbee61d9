/**
 * Where an error came from: the first line of its stack that is code of ours, as
 * `src/policies/cors/compile.ts:30:5`. Where the code lies on this machine is not told.
 */
export function ownFrame(error: unknown): string | undefined {
  const stack = error instanceof Error ? error.stack : undefined
  if (stack === undefined) return undefined
  for (const line of stack.split('\n')) {
    if (!/^\s+at /.test(line) || line.includes('(node:') || line.includes('at node:')) continue
    if (line.includes('node_modules') || line.includes('(<anonymous>)')) continue
    // The last place of a line is that of generated code, which has none of its own, in the file
    // that generates it; `eval at` goes before.
    const found =
      /((?:[^\s()]*?\/)?(?:src|test|bin|dist)\/[^\s()]*:\d+:\d+)|([^\s()/]+:\d+:\d+)/.exec(line)
    const place = found?.[1] ?? found?.[2]
    if (place !== undefined) return place.replace(/^.*\/(?=(?:src|test|bin|dist)\/)/, '')
  }
  return undefined
}
