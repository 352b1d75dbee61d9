// What holds of the whole control plane, all on one cluster: each suite leaves it as it found it.

import { after, before, describe } from 'node:test'
import { missing } from './harness.ts'
import { ownAddress, type Plane, startPlane } from './plane.ts'
import { describeSpecification } from './specification.ts'

const reason = missing() ?? (ownAddress === undefined ? 'only loopback is here' : undefined)
const options = reason === undefined ? {} : { skip: reason }

describe('a control plane', options, () => {
  let plane: Plane
  before(async () => {
    plane = await startPlane({ ports: 40, audit: true })
    await plane.programs.startController()
  })
  after(() => plane?.close())

  describeSpecification(() => plane)
})
