import { charge, fuel, unreadable } from '../values/fuel.ts'
import { Ledger } from '../values/ledger.ts'
import { utf8Decode } from '../values/text.ts'

/** That of the request whose expression runs; a new one for an evaluation by itself. */
export function currentLedger(): Ledger {
  if (!fuel.counts) return new Ledger()
  fuel.ledger ??= new Ledger()
  return fuel.ledger
}

/**
 * The text of bytes, decoded once for all rules of a request. Bytes that are no UTF-8 are read by
 * others as something: no Deny rule is passed by them.
 */
export function readText(bytes: Uint8Array): string | undefined {
  const ledger = currentLedger()
  charge(1)
  const text = ledger.text(bytes, () => {
    ledger.reading.left -= bytes.length >> 4
    if (ledger.reading.left < 0) return undefined
    const decoded = utf8Decode(bytes)
    // What is not ASCII takes some times as long, which is seen by what came of it.
    if (decoded !== undefined && decoded.length < bytes.length) {
      ledger.reading.left -= bytes.length >> 3
    }
    return decoded
  })
  if (text !== undefined) return text
  return unreadable(ledger.reading.left < 0 ? 'bytes take too long to decode' : 'invalid UTF-8')
}
