import { describedOnce } from './described-once.ts'
import type { Structural } from './structural.ts'

export const GROUP = 'portcullis.dev'
const VERSION = 'v1alpha1'

export interface Kind {
  readonly kind: string
  readonly plural: string
  readonly shortName: string
  readonly description: string
  readonly columns: readonly Column[]
  readonly labels?: Readonly<Record<string, string>>
  readonly spec: Structural
  readonly status: Structural
  /** Set if the definition is too long to describe repeated parts in each place. */
  readonly isDescribedOnce?: boolean
}

interface Column {
  readonly name: string
  readonly jsonPath: string
  readonly description: string
}

/** Converts a kind to a CustomResourceDefinition. */
export function toDefinition({ kind, plural, shortName, description, columns, ...rest }: Kind) {
  const { labels = {}, spec, status, isDescribedOnce = false } = rest
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}`, labels: { ...LABELS, ...labels } },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ['portcullis'],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            ...columns.map((column) => ({ ...column, type: 'string' })),
            { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
          ],
          schema: {
            openAPIV3Schema: {
              description,
              type: 'object',
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: isDescribedOnce ? describedOnce(spec, 'spec') : spec,
                status,
              },
            },
          },
        },
      ],
    },
  }
}

const LABELS = { 'app.kubernetes.io/part-of': 'portcullis' }
