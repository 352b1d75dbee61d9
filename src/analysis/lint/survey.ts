import { renderOrigin } from '../../diagnostics/render.ts'
import type { Model } from '../../model/model.ts'
import type { Match } from '../../model/route.ts'
import { runToCompletion } from '../../model/steps.ts'
import type { Where } from '../../reach/where.ts'
import type { PlacedRule, RuleReader } from '../placed-rule.ts'
import { type Point, pointsOf } from '../points.ts'
import { Reasoning } from '../reasoning.ts'
import { originOfRule } from './finding.ts'

/** A rule, with every point that it reaches. */
export interface RuleUse {
  readonly placed: PlacedRule
  readonly at: readonly SurveyedPoint[]
}

/** A rule as seen at one of its points: the same rule may see another token elsewhere. */
export interface SurveyedPoint extends ReasonedPoint {
  readonly placed: PlacedRule
}

/** All rules of a Model with the points that they reach. */
export interface Survey {
  readonly model: Model
  readonly points: readonly ReasonedPoint[]
  readonly rules: readonly RuleUse[]
}

export interface ReasonedPoint {
  readonly point: Point
  /** Created on demand and evicted once enough others were created: there may be thousands. */
  readonly reasoning: Reasoning
  /** Whether all rules of the point are analyzed. If not, nothing is known about the whole. */
  readonly isWhole: boolean
}

/** Max number of rules at one point that are compared with each other. */
const MAX_RULES = 1_000

/**
 * Analyzes points that their rules cannot distinguish only once: the rules of a gateway reach
 * thousands of routes and mean the same at all of them.
 */
export function survey(model: Model): Survey {
  return runToCompletion(surveyCooperatively(model))
}

/** The same in small steps; `read` selects the rules of interest. */
export function* surveyCooperatively(model: Model, read?: RuleReader): Generator<void, Survey> {
  const identify = identifier()
  const reasoningOf = recentReasonings()
  const points = new Map<string, ReasonedPoint>()
  const uses = new Map<string, { placed: PlacedRule; at: SurveyedPoint[] }>()
  for (const point of pointsOf(model, read)) {
    yield
    if (point.rules.length === 0) continue
    const key = identify(point)
    if (points.has(key)) continue
    const few = { ...point, rules: point.rules.slice(0, MAX_RULES) }
    const isWhole = few.rules.length === point.rules.length
    points.set(key, new Reasoned(few, isWhole, reasoningOf))
    for (const placed of few.rules) {
      const rule = ruleKey(placed)
      const known = uses.get(rule)
      const seen = new ReasonedRule(few, isWhole, reasoningOf, placed)
      if (known === undefined) uses.set(rule, { placed, at: [seen] })
      else known.at.push(seen)
    }
  }
  return { model, points: [...points.values()], rules: [...uses.values()] }
}

type ReasoningOf = (point: Point) => Reasoning

class Reasoned implements ReasonedPoint {
  readonly point: Point
  readonly isWhole: boolean
  readonly #reasoningOf: ReasoningOf

  constructor(point: Point, isWhole: boolean, reasoningOf: ReasoningOf) {
    this.point = point
    this.isWhole = isWhole
    this.#reasoningOf = reasoningOf
  }

  get reasoning(): Reasoning {
    return this.#reasoningOf(this.point)
  }
}

class ReasonedRule extends Reasoned implements SurveyedPoint {
  readonly placed: PlacedRule

  constructor(point: Point, isWhole: boolean, reasoningOf: ReasoningOf, placed: PlacedRule) {
    super(point, isWhole, reasoningOf)
    this.placed = placed
  }
}

const MAX_KEPT = 64

/** Keeps the most recently created ones, because checks go through points in order. */
function recentReasonings(): ReasoningOf {
  const kept = new Map<Point, Reasoning>()
  return (point) => {
    const known = kept.get(point)
    if (known !== undefined) return known
    const made = new Reasoning(point)
    kept.set(point, made)
    const [oldest] = kept.keys()
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    return made
  }
}

export function ruleKey(placed: PlacedRule): string {
  return `${renderOrigin(originOfRule(placed))} ${placed.rule.field} ${placed.rule.expression}`
}

function identifier(): (point: Point) => string {
  const ids = new Map<PlacedRule, number>()
  const idOf = (placed: PlacedRule) => {
    const known = ids.get(placed) ?? ids.size
    ids.set(placed, known)
    return known
  }
  return ({ stage, rules, facts, where }) => {
    const paths = new Set(rules.flatMap(({ reads }) => reads.map(({ path }) => path)))
    const known = [...facts].filter(([name]) => {
      const plain = name.replace(/#[^.[]*/, '')
      return paths.has(plain) || [...paths].some((path) => concerns(plain, path))
    })
    // Tools belong to a backend, regardless of what its rules read.
    const servers = stage === 'mcp' ? [where.backend?.name, where.server?.name] : []
    return JSON.stringify([stage, rules.map(idOf), known, matchesOf(rules, where), servers])
  }
}

/**
 * The matches of the route, if a rule is attached to it and so decides only about those requests.
 */
export function matchesOf(rules: readonly PlacedRule[], { rule }: Where): readonly Match[] {
  return rules.some(({ policy }) => policy.level === 'route') ? (rule?.matches ?? []) : []
}

function concerns(fact: string, path: string): boolean {
  return path.startsWith(fact) || fact.startsWith(path)
}
