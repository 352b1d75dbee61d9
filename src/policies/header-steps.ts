import type { Exchange } from '../exchange/exchange.ts'
import { type HeaderEdit, NO_EDIT } from '../exchange/header-edit.ts'

/**
 * Edits of one route are combined in the same order every time, so the last sum is cached; as the
 * same object, it is also rendered only once.
 */
type Apply = (exchange: Exchange) => undefined

export function editRequest(edit: HeaderEdit): Apply {
  let before = NO_EDIT
  let sum = edit
  return (exchange) => {
    if (exchange.requestEdit !== before) {
      before = exchange.requestEdit
      sum = before.with(edit)
    }
    exchange.requestEdit = sum
    return undefined
  }
}

/** A response passes the steps in reverse: later steps change it first. */
export function editResponse(edit: HeaderEdit): Apply {
  let after = NO_EDIT
  let sum = edit
  return (exchange) => {
    if (exchange.responseEdit !== after) {
      after = exchange.responseEdit
      sum = edit.with(after)
    }
    exchange.responseEdit = sum
    return undefined
  }
}
