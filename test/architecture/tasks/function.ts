import type { Task } from './task.ts'

/** An overload in the library that it belongs to. */
export const celFunction: Task = {
  row: 'a function for expressions',
  marker: 'isPalindrome',
  newFiles: {},
  edits: {
    'src/cel/library/encoders.ts': [
      {
        was: "import { BYTES, STRING } from '../check/types.ts'",
        now: "import { BOOL, BYTES, STRING } from '../check/types.ts'",
      },
      {
        before: "  encoder('hex.encode', toHex),",
        added: "  fn('isPalindrome', global([STRING], BOOL, isPalindrome, METERED)),",
      },
      {
        before: 'function toHex(',
        added: `function isPalindrome(text: string): boolean | undefined {
  if (!afford(unitsOf(text))) return undefined
  return [...text].toReversed().join('') === text
}
`,
      },
    ],
  },
  generated: ['docs/reference/functions.md'],
  trial: `import { decide, programOf } from './test/program/models.ts'
const tried = async (text) => {
  const authorization = { rules: [{ allow: \`isPalindrome('\${text}')\` }] }
  const { reply } = await decide(programOf({ routes: [{ policies: { authorization } }] }))
  return reply?.status ?? 'forwarded'
}
export const result = [await tried('level'), await tried('levels')]
`,
  expected: ['forwarded', 403],
  tests: ['src/cel/library/index.test.ts'],
}
