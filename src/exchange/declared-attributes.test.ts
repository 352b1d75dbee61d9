import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exchangeOf } from '../../test/fuzz/exchanges.ts'
import { STAGES, type Stage } from '../cel/index.ts'
import { Struct } from '../cel/values/struct.ts'
import { ResponseAttributes } from './exchange.ts'
import { NO_EDIT } from './header-edit.ts'
import { DraftAttributes, ResponseDraft } from './response-draft.ts'

const exchange = exchangeOf({})
const finished = new ResponseAttributes(exchange, 1)
const draft = new DraftAttributes(new ResponseDraft(200, undefined, NO_EDIT))

describe('every attribute that a stage declares can be read', () => {
  for (const stage of Object.keys(STAGES) as Stage[]) {
    for (const [name, { type }] of STAGES[stage].variables) {
      it(`${stage}: ${name}`, () => {
        assert.ok(name in exchange, 'no such attribute')
        exchange.response = stage === 'response' ? draft : finished
        const value = (exchange as unknown as Record<string, unknown>)[name]
        if (type.kind !== 'struct' || !(value instanceof Struct)) return
        for (const field of type.fields.keys()) {
          assert.ok(value.fieldNames.has(field), `${name}.${field} is not among its fields`)
          assert.ok(field in value, `${name}.${field} is nowhere`)
        }
        for (const field of value.fieldNames) {
          assert.ok(type.fields.has(field), `${name}.${field} is declared nowhere`)
        }
      })
    }
  }
})
