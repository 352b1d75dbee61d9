import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readA2a } from './message.ts'

function taskOf(method: string, params: object): unknown {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  const header = () => undefined
  const read = readA2a({ verb: 'POST', path: '/', search: '', body, header })
  assert.ok(!('rejected' in read), JSON.stringify(read))
  return read.attributes.taskId
}

describe('the task of a call', () => {
  for (const [method, params, expected] of [
    ['tasks/get', { id: 't' }, 't'],
    ['tasks/cancel', { id: 't' }, 't'],
    ['tasks/resubscribe', { id: 't' }, 't'],
    ['tasks/pushNotificationConfig/set', { taskId: 't', pushNotificationConfig: { id: 'c' } }, 't'],
    // In 0.3, this `id` is also a task ID; in 1.0, it is the ID of the configuration.
    ['tasks/pushNotificationConfig/get', { id: 't', pushNotificationConfigId: 'c' }, 't'],
    ['tasks/pushNotificationConfig/list', { id: 't' }, 't'],
    ['tasks/pushNotificationConfig/delete', { id: 't', pushNotificationConfigId: 'c' }, 't'],
    ['GetTask', { id: 't' }, 't'],
    ['CreateTaskPushNotificationConfig', { taskId: 't', id: 'c' }, 't'],
    ['GetTaskPushNotificationConfig', { taskId: 't', id: 'c' }, 't'],
    ['ListTaskPushNotificationConfigs', { taskId: 't' }, 't'],
    ['DeleteTaskPushNotificationConfig', { task_id: 't', id: 'c' }, 't'],
    ['message/send', { message: { taskId: 't', parts: [] } }, 't'],
    ['SendMessage', { message: { parts: [] } }, undefined],
  ] as const) {
    it(`${method} ${JSON.stringify(params)}: ${expected}`, () => {
      assert.equal(taskOf(method, params), expected)
    })
  }

  it('must be unambiguous', () => {
    const params = { id: 't', taskId: 'other', pushNotificationConfigId: 'c' }
    const call = { jsonrpc: '2.0', id: 1, method: 'tasks/pushNotificationConfig/delete', params }
    const body = Buffer.from(JSON.stringify(call))
    const read = readA2a({ verb: 'POST', path: '/', search: '', body, header: () => undefined })
    assert.ok('rejected' in read)
  })
})
