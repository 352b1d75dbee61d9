import assert from 'node:assert/strict'
import { it } from 'node:test'
import { NO_EDIT } from '../exchange/header-edit.ts'
import type { Downstream } from '../wire/downstream.ts'
import type { UpstreamConnection } from '../wire/upstream-connection.ts'
import { Forward } from './forward.ts'

it('bytes of a stream that is reused by another request count as written', () => {
  const downstream = { uses: 3, isWritten: false }
  const forward = new Forward(
    undefined as never,
    downstream as Downstream,
    undefined as never,
    undefined as never,
    0,
    undefined as never,
  )
  assert.equal(forward.isWritten(), false)
  downstream.uses = 4
  assert.equal(forward.isWritten(), true)
})

it('the same applies to a stream to an upstream', () => {
  const connection = {
    uses: 0,
    isWritten: false,
    sendReceived: () => true,
  }
  const exchange = { sentEdit: NO_EDIT, request: { id: '' }, path: '/', sentSearch: '', host: 'x' }
  const head = { framing: 'none', method: 'GET', fields: { count: 0 }, upgrade: '' }
  const forward = new Forward(
    undefined as never,
    { head } as unknown as Downstream,
    exchange as never,
    undefined as never,
    0,
    { broke: () => {}, withoutResponse: () => {} } as never,
  )
  assert.equal(forward.hasWritten(), false)
  forward.connected(connection as unknown as UpstreamConnection)
  assert.equal(forward.hasWritten(), false)
  connection.uses++
  assert.equal(forward.hasWritten(), true)
})
