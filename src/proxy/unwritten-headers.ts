import type { Exchange } from '../exchange/exchange.ts'
import { ALL_WRITTEN } from '../exchange/header-edit.ts'

/** Headers that policies were to write in either direction, whose values cannot be sent. */
export function unwrittenHeaders({
  sentEdit,
  responseEdit,
  unwritten,
}: Exchange): readonly string[] {
  const sent = sentEdit.unwritten
  const returned = unwritten === ALL_WRITTEN ? responseEdit.unwritten : unwritten
  return returned.length === 0 ? sent : [...sent, ...returned]
}
