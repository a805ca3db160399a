// The module that Python imports.
#include "avx2.hpp"
#include "bindings.hpp"

NB_MODULE(_compiled, module) {
    module.doc() = "The compiled engine: the functions of capeval.engine.python in C++.";
    module.def("simd", [] { return capeval::has_avx2() ? "avx2" : "none"; });
    capeval::bind_chart(module);
    capeval::bind_meteor(module);
    capeval::bind_network(module);
    capeval::bind_ranking(module);
    capeval::bind_squeeze(module);
    capeval::bind_rules(module);
    capeval::bind_scan(module);
    capeval::bind_scene(module);
    capeval::bind_scores(module);
    capeval::bind_transport(module);
}
