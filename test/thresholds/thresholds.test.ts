import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GROUPS } from './list.ts'
import { runWith } from './run.ts'
import { chosenSettings } from './threshold.ts'

for (const group of GROUPS) {
  describe(`properties of ${group.name}`, () => {
    const sums = group.thresholds.map((): [no: number, yes: number] => [0, 0])

    for (const setting of chosenSettings()) {
      it(`hold with thresholds at ${setting}`, async () => {
        const { isPassed, output, sides } = await runWith(group, setting)
        for (const [index, [no, yes]] of sides.entries()) {
          const sum = sums[index] as [number, number]
          sum[0] += no
          sum[1] += yes
        }
        assert.ok(isPassed, output)
      })
    }

    it('took both sides of every threshold', () => {
      const missed = group.thresholds.flatMap(({ file, tests: [test] }, index) => {
        const [no, yes] = sums[index] as [number, number]
        if (test === undefined || (no > 0 && yes > 0)) return []
        return [`${file}: ${test} was ${no} times false and ${yes} times true`]
      })
      assert.deepEqual(missed, [])
    })
  })
}
