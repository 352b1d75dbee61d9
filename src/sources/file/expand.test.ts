// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts name variables

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { expand } from './expand.ts'
import type { Problem } from './problem.ts'

const ENVIRONMENT = { HOST: 'orders', EMPTY: '', DOLLAR: '${HOST}' }

function expanded(text: string) {
  const problems: Problem[] = []
  const result = expand(text, ENVIRONMENT, (problem) => void problems.push(problem))
  return { text: result?.text ?? text, sources: result?.sources, problems }
}

describe('variables', () => {
  for (const [text, meaning] of [
    ['plain', 'plain'],
    ['${HOST}', 'orders'],
    ['http://${HOST}:80/${HOST}', 'http://orders:80/orders'],
    ['$HOST', 'orders'],
    ['http://$HOST:80', 'http://orders:80'],
    ['$HOST x$HOST', 'orders xorders'],
    ['a$EMPTY!', 'a!'],
    ['$HOSTx', '$HOSTx'],
    ['x$$HOST', 'x$HOST'],
    ['$host', '$host'],
    ['$$HOST', '$HOST'],
    ['$${HOST}', '${HOST}'],
    ['a$$b', 'a$b'],
    ['^/a$', '^/a$'],
    ['$2y$05$aBC', '$2y$05$aBC'],
    ['${EMPTY}', ''],
    ['${EMPTY:-x}', 'x'],
    ['${NONE:-}', ''],
    ['${NONE:-a b}', 'a b'],
    ['${DOLLAR}', '${HOST}'],
  ] as const) {
    it(`${text} is ${JSON.stringify(meaning)}`, () => {
      assert.deepEqual([expanded(text).text, expanded(text).problems], [meaning, []])
    })
  }

  for (const [text, code, start, end] of [
    ['a ${NONE} b', 'PC0204', 2, 9],
    ['$NONE', 'PC0204', 0, 5],
    ['x$OTHER', 'PC0207', 1, 7],
    ['$HOSTNAME x', 'PC0207', 0, 9],
    ['${', 'PC0205', 0, 2],
    ['a${b c}', 'PC0205', 1, 7],
    ['${}', 'PC0205', 0, 3],
    ['${HOST-x}', 'PC0205', 0, 9],
  ] as const) {
    it(`${text} is reported at its place`, () => {
      const [problem] = expanded(text).problems
      assert.deepEqual([problem?.code, problem?.start, problem?.end], [code, start, end])
    })
  }

  it('are left unexpanded in a longer value, with a warning, if they are not set', () => {
    const { text, problems } = expanded('$apr1$OTHER$x')
    assert.deepEqual(
      [text, problems.map(({ severity }) => severity)],
      ['$apr1$OTHER$x', ['warning']],
    )
  })

  it('map back to where they were written', () => {
    assert.deepEqual(expanded('a${HOST}b$$').sources, [0, 1, 1, 1, 1, 1, 1, 8, 9, 11])
  })
})
