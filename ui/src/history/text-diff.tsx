import { lineDiff } from './line-diff.ts'

const TONES = { '+': 'tone-good', '-': 'tone-bad', ' ': '' } as const
const WORDS = { '+': 'added', '-': 'removed', ' ': '' } as const

export function TextDiff({ before, after }: { readonly before: string; readonly after: string }) {
  return (
    <div className="diff">
      {lineDiff(before, after).map(({ sign, text }, index) => (
        <div key={`${index} ${sign}`} className={TONES[sign]} data-change={WORDS[sign]}>
          {sign} {text}
        </div>
      ))}
    </div>
  )
}
