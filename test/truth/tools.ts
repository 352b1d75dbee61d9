import { runCommand } from '../../src/cli/index.ts'

export interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command of `portcullis` as its process would; tests of this oracle replace it. */
export type Tools = (args: readonly string[]) => Promise<Said>

export const runTools: Tools = async (args) => {
  let [out, err] = ['', '']
  const code = await runCommand(
    args,
    {
      out: (text) => void (out += text),
      err: (text) => void (err += text),
      environment: {},
      readInput: () => '',
      width: 100,
      colour: false,
    },
    'truth',
  )
  return { code, out, err }
}
