import { charge, fuel, unreadable } from '../values/fuel.ts'
import { Ledger } from '../values/ledger.ts'
import { utf8Decode } from '../values/text.ts'

/** The ledger of the request whose expression runs; a new one for a standalone evaluation. */
export function currentLedger(): Ledger {
  if (!fuel.counts) return new Ledger()
  fuel.ledger ??= new Ledger()
  return fuel.ledger
}

/**
 * Decodes bytes to a string once for all rules of a request. Other parsers may accept bytes that
 * are not UTF-8, so such bytes must not bypass a Deny rule.
 */
export function readText(bytes: Uint8Array): string | undefined {
  const ledger = currentLedger()
  charge(1)
  const text = ledger.text(bytes, () => {
    ledger.reading.left -= bytes.length >> 4
    if (ledger.reading.left < 0) return undefined
    const decoded = utf8Decode(bytes)
    // Non-ASCII input takes several times as long; only the result shows whether there was any.
    if (decoded !== undefined && decoded.length < bytes.length) {
      ledger.reading.left -= bytes.length >> 3
    }
    return decoded
  })
  if (text !== undefined) return text
  return unreadable(ledger.reading.left < 0 ? 'bytes take too long to decode' : 'invalid UTF-8')
}
