import type { Group } from './threshold.ts'

const FULL = Number.POSITIVE_INFINITY

export const ANALYSIS: readonly Group[] = [
  {
    name: 'analysis',
    tests: ['test/fuzz/{symbolic-truth,policy-diff,certain-errors,lint-truth,diff-truth}.test.ts'],
    thresholds: [
      {
        file: 'src/analysis/symbolic/pattern-machine.ts',
        tests: ['MACHINES.size >= MAX_REMEMBERED'],
        switches: 'machines are kept → built again',
      },
      {
        file: 'src/analysis/symbolic/pattern-machine.ts',
        tests: ['program.op.length > LARGEST'],
        switches: 'pattern is analyzed → not known',
      },
      {
        file: 'src/analysis/symbolic/pattern-machine.ts',
        tests: ['codes.size > MAX_CHARACTERS'],
        switches: 'pattern is analyzed → not known',
        // Neighbors at 0 and 1 hide both sides.
        values: [0, 1, 4],
      },
      {
        file: 'src/analysis/symbolic/text-product.ts',
        tests: ['machines.length + suffixes.size + infixes.size > MAX_FOLLOWED'],
        switches: 'product of machines → made-up strings',
      },
      {
        file: 'src/analysis/symbolic/text-product.ts',
        tests: ['seen.size >= MAX_STATES'],
        switches: 'product of machines → made-up strings',
      },
      {
        file: 'src/analysis/symbolic/texts.ts',
        tests: ['++walked > MAX_WALKED'],
        switches: 'search for a string that nothing tests → made-up string',
      },
      {
        file: 'src/analysis/symbolic/attribute-tree.ts',
        tests: ['Math.max(elements.size, members.length) <= MAX_COUNTED'],
        switches: 'every set of elements → not known',
      },
      {
        file: 'src/analysis/symbolic/leaves.ts',
        tests: ['comparisons > MAX_COMPARISONS'],
        switches: 'values of an element → opaque',
      },
      {
        file: 'src/analysis/symbolic/leaves.ts',
        tests: ['bound <= MAX_LENGTH'],
        switches: 'values by length → opaque',
        values: [0, 1, 40],
      },
      {
        file: 'src/analysis/lint/checks/sets.ts',
        tests: ['rules.length > MAX_COMPARED'],
        switches: 'rules are compared → only equal texts',
      },
      {
        file: 'src/analysis/lint/survey.ts',
        tests: ['kept.size > MAX_KEPT'],
        switches: 'reasoning is kept → made again',
      },
      {
        file: 'src/analysis/diff/compare.ts',
        tests: ['++pairs > MAX_PAIRS'],
        switches: 'pairs are compared → not known',
      },
      {
        file: 'src/analysis/diff/search.ts',
        tests: ['examples.length >= MAX_EXAMPLES'],
        switches: 'more examples → the first ones',
        values: [1, 1, FULL],
      },
    ],
  },
]
