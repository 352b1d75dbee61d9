import type { Decision } from '../api/shapes.ts'
import { reasonOf } from '../decisions/reason.ts'
import { VerdictTag } from './tags.tsx'
import { timeWords } from './time-words.ts'

/** A line in a list of decisions, with a link to the decision. */
export function DecisionRow({ decision }: { readonly decision: Decision }) {
  const { id, time, method = '', path, sni, source, stage, route } = decision
  const what = path === undefined ? `connection ${sni ?? source}` : `${method} ${path}`
  return (
    <a className="row-link" href={`/ui/decisions/${encodeURIComponent(id)}`}>
      <span>{timeWords(new Date(time), new Date())}</span>
      <span>
        <VerdictTag decision={decision} />
      </span>
      <span className="expression">
        {what}
        {route === undefined ? '' : ` · ${route}`}
      </span>
      <span>
        {reasonOf(decision)}
        {stage === 'traffic' ? '' : ` (${stage})`}
      </span>
    </a>
  )
}
