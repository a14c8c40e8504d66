#include "build/nvcc_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace kforge::build {
namespace {

using ::testing::ElementsAre;

constexpr const char* kDryrun = R"(#$ _SPACE_= 
#$ CICC_PATH=/opt/cuda/nvvm/bin
#$ INCLUDES="-I/opt/cuda/include"  
#$ gcc -D__CUDA_ARCH__=900 -E -x c++ -DNAME="\"a b\"" "candidate.cu" -o "./candidate.cpp1.ii" 
#$ gcc -E -x c++ "candidate.cu" -o "./candidate.cpp4.ii" 
#$ -- Filter Dependencies -- > candidate.d
#$ cudafe++ --gen_c_file_name "./candidate.cudafe1.cpp" "./candidate.cpp4.ii" 
#$ "$CICC_PATH/cicc" -arch compute_90 "./candidate.cpp1.ii" -o "./candidate.ptx"
#$ ptxas -arch=sm_90 "./candidate.ptx"  -o "./candidate.cubin" 
#$ fatbinary --create="./candidate.fatbin" "--image3=kind=ptx,sm=90,file=./candidate.ptx" 
#$ gcc -c -x c++ "./candidate.cudafe1.cpp" -o "./candidate.o" 
#$ g++ "./candidate.o" -shared -o "candidate.so" 
)";

TEST(NvccSteps, TheEightStepsAreTakenAsWords) {
  const auto steps = parse_dryrun(kDryrun);
  ASSERT_TRUE(steps);
  EXPECT_THAT(steps->preprocess_device, ElementsAre("gcc", "-D__CUDA_ARCH__=900", "-E", "-x", "c++", "-DNAME=\"a b\"", "candidate.cu", "-o", "./candidate.cpp1.ii"));
  EXPECT_THAT(steps->cicc, ElementsAre("/opt/cuda/nvvm/bin/cicc", "-arch", "compute_90", "./candidate.cpp1.ii", "-o", "./candidate.ptx"));
  EXPECT_THAT(steps->fatbinary, ElementsAre("fatbinary", "--create=./candidate.fatbin", "--image3=kind=ptx,sm=90,file=./candidate.ptx"));
  EXPECT_EQ(option_value(steps->cudafe, "--gen_c_file_name"), "./candidate.cudafe1.cpp");
  EXPECT_EQ(option_value(steps->link, "-no-such"), "");
}

TEST(NvccSteps, AnythingElseIsForNvccItself) {
  const std::string dryrun = kDryrun;
  EXPECT_FALSE(parse_dryrun(""));
  EXPECT_FALSE(parse_dryrun(dryrun + "#$ nvlink a.o\n"));
  EXPECT_FALSE(parse_dryrun(replace_all(dryrun, "#$ ptxas -arch=sm_90 \"./candidate.ptx\"  -o \"./candidate.cubin\" \n", "")));
  EXPECT_FALSE(parse_dryrun(replace_all(dryrun, "#$ ptxas", "#$ ptxas -v a\n#$ ptxas")));       // two targets
  EXPECT_FALSE(parse_dryrun(replace_all(dryrun, "#$ gcc -c", "#$ clang -c")));
  EXPECT_FALSE(parse_dryrun(replace_all(dryrun, "$CICC_PATH", "$ELSEWHERE")));
  EXPECT_FALSE(parse_dryrun(replace_all(dryrun, "ptxas -arch", "ptxas -arch | tee")));
  EXPECT_FALSE(parse_dryrun(replace_all(dryrun, "-DNAME=\"\\\"a b\\\"\"", "-DNAME=\"a b")));    // an open quote
}

TEST(NvccSteps, FilesAreWhatLineMarkersName) {
  EXPECT_THAT(marked_files("# 0 \"<built-in>\"\n# 1 \"/a/b.cu\" 1\nint x; # 3 \"no\"\n# 7 \"/a/with \\\"quotes\\\".h\" 2\n# 1 \"/a/b.cu\"\n# 1 \"/folder//\"\n#pragma once \"x\"\n"),
              ElementsAre("/a/b.cu", "/a/with \"quotes\".h"));
}

}  // namespace
}  // namespace kforge::build
