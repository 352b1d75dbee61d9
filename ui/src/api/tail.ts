import { send } from './client.ts'
import type { Decision } from './shapes.ts'

/** Follows decisions until aborted; uses fetch, because an EventSource cannot send a token. */
export async function followDecisions(
  filters: URLSearchParams,
  found: (decisions: readonly Decision[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await send(`/api/decisions/tail?${filters}`, { signal })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  while (reader !== undefined && !signal.aborted) {
    const { done, value } = await reader.read()
    if (done) return
    const events = (rest + value).split('\n\n')
    rest = events.pop() ?? ''
    const decisions = events.flatMap((event) => {
      const data = /^data: (.*)$/m.exec(event)?.[1]
      return data === undefined ? [] : [JSON.parse(data) as Decision]
    })
    if (decisions.length > 0) found(decisions)
  }
}
