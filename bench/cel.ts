import { CelGo } from './cel/cel-go.ts'
import { benchExpressions } from './cel/expressions.ts'
import { benchLoad } from './cel/load.ts'
import { benchRules } from './cel/rules.ts'
import type { Report } from './report.ts'

/** The CEL engine against cel-go and two JavaScript engines, in one interleaved run. */
export async function cel(): Promise<Report> {
  const started = CelGo.start()
  const go = typeof started === 'string' ? undefined : started
  try {
    const parts = [await benchExpressions(go), await benchRules(go), await benchLoad(go)]
    return {
      intro: [
        'CPU time, all threads of a process counted; slices of about 2 ms, engines in turn within',
        'each table row; the p10 of the slices is shown. The predicate returns true or not-true, the',
        'other engines a value or an error with its message: "value, generated" is the like for like.',
        'From run to run on a shared machine figures move by up to two times, ratios by a third.',
        'Rule sets decide on one request whose texts change, after 400,000 warming decisions. Loading is',
        'judged by the CPU of the thread that loads; the table has that of all threads too.',
        ...(typeof started === 'string' ? [`Without cel-go: ${started}`] : []),
      ],
      tables: parts.flatMap(({ tables }) => tables),
      targets: parts.flatMap(({ targets }) => targets),
    }
  } finally {
    await go?.stop()
  }
}
