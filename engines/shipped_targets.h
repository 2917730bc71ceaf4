#pragma once

namespace lemma {

/// The targets that come with Lemma: onnxruntime-cpu, rtask-cpu, rtask-cuda and rtask-hip. To be called once, before targets are
/// looked for. Another one is a class of its own in a file here, a line in shipped_targets.cpp, and NAME.json in
/// targets/devices.
void add_shipped_targets();

}  // namespace lemma
